"""The site: ``make site`` builds it from these pages, the docstrings and examples/, without network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from scripts import sphinx_site

import elmonet

project = "elmonet"
author = "The elmonet developers"
copyright = author
release = version = elmonet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["**sg_execution_times.rst"]
html_title = "elmonet"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/logo.svg"
html_context = {"default_mode": "auto"}
html_sidebars = {name: [] for name in ("command-line", "changelog", "contributing")}  # no pages below them
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "elmonet",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "",
    },
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "secondary_sidebar_items": ["page-toc"],
}
smartquotes = False  # in docstrings quotes are code
highlight_language = "none"  # indented blocks of the pages are formulas and shell commands

# Markdown as GitHub shows it: links to headings by the same anchors.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# scripts/sphinx_site.py makes reStructuredText of docstrings. `name` is a link if it is public.
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# Names instead of the unions behind them; docs/api/index.rst says what they are.
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Functions", "FunctionValues")}
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 70
python_use_unqualified_type_names = True

# Shell prompts and outputs are not copied.
copybutton_prompt_text = r"^\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/used",  # which examples use a class, for the API pages
    "doc_module": ("elmonet",),
    "filename_pattern": r"\.py$",
    "within_subsection_order": "scripts.sphinx_site.GalleryOrder",
    "capture_repr": (),
    "image_srcset": ["2x"],
    "thumbnail_size": (400, 280),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "plot_gallery": True,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
    "matplotlib_animations": False,
}

setup = sphinx_site.setup
