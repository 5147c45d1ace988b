"""Analyses of grids: models by tasks under protocols, whoever measured them.

`build_grid` writes a grid's scores with what they are uncertain by; each other script reads it (`grid.read_grids`) and
writes its tables, some with a figure. `frame` and `plots` hold what the tables and the figures have in common,
`grid_settings` what the scripts are given of the config. `texts` also reads files with bits per byte of texts.
"""
