"""The documentation site: `make docs` builds it into docs/_build/html, offline, with every warning an error."""

import sys
import warnings
from pathlib import Path

from pygments.lexers import TextLexer
from sphinx.application import Sphinx
from sphinx_gallery.sorting import FileNameSortKey

import ehfl

sys.path.insert(0, str(Path(__file__).parent))  # for _site

project = "ehfl"
author = "the ehfl authors"
project_copyright = "the ehfl authors, Apache-2.0"
version = release = ehfl.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery", "_site.reference"]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
default_role = "code"  # `name` in docstrings and examples is code, as in Markdown
myst_heading_anchors = 4  # page.md#a-heading, as on GitHub

html_theme = "furo"
html_title = f"ehfl {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "../notebooks"],
    "gallery_dirs": ["gallery", "notebooks"],
    "filename_pattern": r"\.py$",  # every file is executed
    "image_scrapers": ("_site.pictures.scrape",),
    "reset_modules": ("_site.pictures.reset",),
    "ignore_repr_types": r"matplotlib\.|'list'",  # what drawing returns: <Legend object at 0x...>
    "within_subsection_order": FileNameSortKey,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 600,
    "parallel": 2,
}


def setup(app: Sphinx) -> None:
    """Show CSV as it is."""
    app.add_lexer("csv", TextLexer)


suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which Sphinx cannot store
warnings.filterwarnings("error", module=r"ehfl\.")
