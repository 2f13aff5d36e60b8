"""elmore inside other libraries, one module or folder for each; each needs its extra."""
