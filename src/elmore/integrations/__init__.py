"""elmore inside other tools, one module for each; each needs the extra of its name."""
