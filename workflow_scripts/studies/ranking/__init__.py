"""Analyses of grids: scores of models on tasks under several protocols, measured or imported.

`build_grid` writes a grid's scores with their errors; every other script reads it (`grid.read_grids`) and
writes tables, some with a figure. `frame` and `plots` have the shared code of tables and figures, `grid_settings`
the parameters from the config. `texts` also reads files with bits per byte of texts.
"""
