"""The files that every table of a run's grid is made from."""

from workflow_scripts.studies.product import Sources, import_folders, published

GRID: Sources = {
    "scores": "results/scores/harmony.parquet",
    "errors": "results/scores/harmony_errors.parquet",
    "imports": import_folders,
    "imported": lambda settings: settings.harmony.imported_scores,
    "correlations": published("items/correlations.csv"),
    "leaderboard": published("harmony_leaderboard.csv"),
    "cells": published("harmony_cells.csv"),
}
