"""Analyse grids: scores of models on tasks under several protocols, measured or imported.

`build_grid` writes a grid's scores with their errors; every other script reads them (`grid.read_grids`) and
writes tables, some with a figure. `grid_tables` and `plots` have what tables and figures share, `grid_settings`
the parameters from the config. `texts` also reads files with bits per byte of texts.
"""
