"""pyLDAvis: its prepared data as JSON, or as a page if the name of the file ends in .html.

Topics keep their numbers, from 0 on; those of a view that has merged or dropped some are counted
anew. The page needs no network: it holds the scripts of pyLDAvis.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topicmc.export.libraries import library
from topicmc.export.source import Source, Topics
from topicmc.topics.layout import plane
from topicmc.topics.matching import distances

if TYPE_CHECKING:
    from pyLDAvis import PreparedData

FEWEST = 1e-12
"""Share of the tokens that the smallest topic is given, as pyLDAvis divides by it."""


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    library("pyLDAvis", "pyldavis")
    data = prepared_data(source.topics)
    told = _page(data) if path.suffix.lower() in (".html", ".htm") else _json(data)
    path.write_text(told, encoding="utf-8")
    source.name_indices()
    source.note_dropped("percentages")


def prepared_data(topics: Topics) -> PreparedData:
    """The topics as pyLDAvis prepares them, on the same map as in the report.

    Of documents pyLDAvis wants to know only how large they make topics, so it is given a single one
    that has the tokens of all these topics and their shares for its mix.
    """
    pyldavis = library("pyLDAvis", "pyldavis")
    n_tokens = topics.n_tokens * topics.share.sum()  # less those of topics that a view has dropped
    share = np.maximum(topics.share, FEWEST)
    share = share / share.sum()
    return pyldavis.prepare(
        topic_term_dists=topics.phi,
        doc_topic_dists=share[None],
        doc_lengths=[n_tokens],
        vocab=topics.vocabulary,
        term_frequency=share @ topics.phi * n_tokens,
        mds=lambda phi: plane(distances(phi.to_numpy(), phi.to_numpy())),
        plot_opts={"xlab": "", "ylab": ""},
        n_jobs=1,
        sort_topics=False,
        start_index=0,
    )


def _json(data: PreparedData) -> str:
    """As JSON, in which no word can end the script of a page that it stands in."""
    return data.to_json().replace("<", "\\u003c")


def _page(data: PreparedData) -> str:
    """A page that needs nothing else."""
    urls = library("pyLDAvis.urls", "pyldavis")
    page = library("pyLDAvis", "pyldavis").prepared_data_to_html(
        data,
        d3_url=_inline(urls.D3_LOCAL, "text/javascript"),
        ldavis_url=_inline(urls.LDAVIS_LOCAL, "text/javascript"),
        ldavis_css_url=_inline(urls.LDAVIS_CSS_LOCAL, "text/css"),
        template_type="simple",
        visid="topics",
    )
    return page.replace(data.to_json(), _json(data))


def _inline(path: str, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(Path(path).read_bytes()).decode()}"
