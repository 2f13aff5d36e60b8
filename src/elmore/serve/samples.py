"""The indexes that come with the package, so that there are senses to look at from the start.

They hold vectors of the bundled models and are built by tools/sample_index.py. A model that was
trained again since then makes its samples useless: they are left out, and it is said why.
"""

from pathlib import Path

from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import FACTS
from elmore.serve.registry import Registry, serve_index

SAMPLES = Path(__file__).parent / "samples"


def add_samples(registry: Registry, folder: Path = SAMPLES) -> list[str]:
    """Add the samples of the models that are served; return a sentence for each one left out."""
    left_out = []
    served = {one.elmo.source: one for one in registry.models.values()}
    for facts in sorted(folder.glob(f"*/{FACTS}")):
        index = OccurrenceIndex.load(facts.parent)
        name, source = facts.parent.name, index.model.source
        if source not in served:
            continue
        if index.model.hash == served[source].elmo.model.fingerprint():
            registry.indexes[name] = serve_index(name, index, served[source])
        else:
            left_out.append(
                f"the sample index {name} was built with another version of the model {source} "
                "and is not served; build it again with tools/sample_index.py"
            )
    return left_out
