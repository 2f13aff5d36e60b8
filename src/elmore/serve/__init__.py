"""HTTP in, tokens with their vectors out: the server behind `elmore serve` (extra `serve`).

    request -> schemas -> tokens -> batching (one thread a model) -> arrays -> encoding -> response

`app.py` puts the parts together, `server.py` runs them.
"""
