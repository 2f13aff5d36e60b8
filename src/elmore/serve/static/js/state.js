// The state of the page is its address: what stands behind # can be sent to anyone.

const listeners = [];

/** All that the address says, as an object of strings. */
export const state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

/** Change some of it; null takes a name out. `isStep`: the Back button returns from it. */
export function change(changes, { isStep = false } = {}) {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") said.delete(name);
    else said.set(name, value);
  }
  const address = `#${said}`;
  if (address === location.hash) return;
  history[isStep ? "pushState" : "replaceState"](null, "", address);
  for (const listener of listeners) listener();
}

export function onChange(listener) {
  listeners.push(listener);
  addEventListener("hashchange", listener);
}
