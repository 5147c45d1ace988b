"""What the rules of tables, figures and pages are given: what their declarations say."""

from operator import attrgetter

from workflow_scripts.paper.products import BY_NAME, inputs_of, listed
from workflow_scripts.scores.foreign.requests import import_request
from workflow_scripts.studies.product import import_folders


def imports_of(study):
    """Other people's results: they stand beside those of the grid, and on the leaderboard."""
    return import_folders(SETTINGS) if study in ("harmony", "suite") else []


def names_of(kind):
    """A wildcard constraint that admits the declared products of this kind."""
    return one_of(name for of, name in BY_NAME if of == kind)


def of_product(kind, give):
    """What `give` says of the product that is to be made."""

    @signed
    def given(wildcards):
        return give(BY_NAME[kind, wildcards[kind]])

    return given


def made_from(kind):
    @signed
    def given(wildcards):
        product = BY_NAME[kind, wildcards[kind]]
        return inputs_of(product, SETTINGS, lambda study: records_of(study, wildcards))

    return given


def in_report(path, kind):
    """It enters Snakemake's own report."""
    return report(
        path,
        caption="../docs/captions/product.rst",
        category=of_product(kind, attrgetter("category")),
        labels=of_product(kind, lambda product: {"name": product.name, "shows": product.sentence}),
    )


def described(kind, made_by):
    """What a product's step is told; `made_by` is what it calls the module."""
    fields = {made_by: "module", "version": "version", "caption": "caption"}
    told = {name: of_product(kind, attrgetter(field)) for name, field in fields.items()}
    request = of_product(kind, lambda product: product.request(SETTINGS).as_params())
    return {**told, "request": request}
