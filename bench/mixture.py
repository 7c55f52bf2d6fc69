"""Mixtures on users of a site, and on short texts beside GSDMM.

    python bench/mixture.py web TRAIN TEST FOLDER
    python bench/mixture.py titles TEXTS.jsonl FOLDER

The first reads the anonymous web data of Microsoft (UCI; lines A, C and V), trains a mixture for
each seed and scores the test users. The second reads objects with ``title`` and ``categories``,
trains a mixture and topica's GSDMM (Yin & Wang 2014) on the same titles, and says for each how many
groups there are, their normalised mutual information with the first category, and the score of the
titles held out. It needs topica and scikit-learn. FOLDER takes corpora and runs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from exactness import topicmc


def web(train: Path, test: Path, folder: Path, seeds: int, options: list[str]) -> None:
    for name, source in (("train", train), ("test", test)):
        users: list[list[str]] = []
        for line in source.read_text(encoding="latin-1").splitlines():
            kind, number = line.split(",")[:2]
            if kind == "C":
                users.append([])
            elif kind == "V":
                users[-1].append(f"area-{number}")
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps({"areas": areas}) + "\n" for areas in users)
        )
        topicmc(
            "prepare", folder / f"{name}.jsonl", "-o", folder / name, "--tokens", "areas",
            "--heldout", 0, "--min-df", 1, "--max-df", 1, "--force",
        )  # fmt: skip
    print("seed  nats a user  of the newest sample  a visit  number of groups (5 %, 50 %, 95 %)")
    for seed in range(seeds):
        run = folder / f"run-{seed}"
        topicmc(
            "train", folder / "train", "--model", "mixture", "-o", run, "--seed", seed, "--force",
            "--progress", "none", *options,
        )  # fmt: skip
        told = json.loads(topicmc("evaluate", run, "--corpus", folder / "test", "--json"))
        print(
            f"{seed:4d}  {told['nats_per_document_averaged']:11.4f}"
            f"  {told['nats_per_document']:20.4f}  {told['nats_per_token']:7.4f}"
            f"  {quantiles(told['groups'])}",
            flush=True,
        )


def quantiles(numbers: list[dict]) -> str:
    """Of the posterior of the number of groups."""
    running = np.cumsum([number["probability"] for number in numbers])
    at = [numbers[int(np.searchsorted(running, q - 1e-9))]["groups"] for q in (0.05, 0.5, 0.95)]
    return ", ".join(map(str, at))


def titles(source: Path, folder: Path, seeds: int, options: list[str]) -> None:
    import topica
    from sklearn.metrics import normalized_mutual_info_score

    from topicmc.corpora import Corpus
    from topicmc.kernels.threads import Threads
    from topicmc.models.mixture.evaluation import log_predictive
    from topicmc.models.mixture.model import training_documents

    with (folder / "titles.jsonl").open("w", encoding="utf-8") as stream:
        for line in source.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if not record.get("categories"):
                continue
            label = record["categories"][0].split(".")[0]
            stream.write(json.dumps({"text": record["title"], "label": label}) + "\n")
    topicmc(
        "prepare", folder / "titles.jsonl", "-o", folder / "titles", "--keep", "label",
        "--stopwords", "english", "--heldout", 1000, "--force",
    )  # fmt: skip
    corpus = Corpus.open(folder / "titles")
    documents, heldout = training_documents(corpus), corpus.heldout
    assert corpus.columns is not None
    labels = [corpus.columns[i]["label"] for i in range(corpus.n_docs)]
    texts = [
        np.repeat(part.word_ids, part.counts).astype(str).tolist()
        for part in (documents.part(i, i + 1) for i in range(documents.n_docs))
    ]
    print(f"{corpus.n_docs:,} titles, {corpus.n_words:,} words, {len(set(labels))} categories")
    print("system    seed  groups  NMI    nats a title held out")
    for seed in range(seeds):
        run = folder / f"titles-{seed}"
        topicmc(
            "train", folder / "titles", "--model", "mixture", "-o", run, "--seed", seed, "--force",
            "--progress", "none", *options,
        )  # fmt: skip
        topicmc("export", run, "--to", "npy", "-o", folder / f"npy-{seed}", "--force")
        told = json.loads(topicmc("evaluate", run, "--json"))
        groups = np.load(folder / f"npy-{seed}" / "groups.npy")
        nmi = normalized_mutual_info_score(labels, groups)
        print(
            f"topicmc   {seed:4d}  {len(set(groups)):6d}  {nmi:.3f}"
            f"  {told['nats_per_document']:.3f} of one state,"
            f" {told['nats_per_document_averaged']:.3f} averaged",
            flush=True,
        )
        model = topica.GSDMM(100, alpha=0.1, beta=0.1, seed=seed)
        model.fit(texts, iters=100)
        found = np.array(model.doc_cluster)
        phi = np.full((model.topic_word.shape[0], corpus.n_words), 0.0)
        phi[:, [int(word) for word in model.vocabulary]] = model.topic_word
        sizes = np.array([(found == k).sum() for k in range(len(phi))])
        weights = (sizes + 0.1) / (sizes + 0.1).sum()
        with np.errstate(divide="ignore"):
            scores = log_predictive(
                heldout, np.log(weights), -np.inf, np.log(phi).T.copy(), 0.1, Threads(1)
            )
        nmi = normalized_mutual_info_score(labels, found)
        print(
            f"GSDMM     {seed:4d}  {len(set(found.tolist())):6d}  {nmi:.3f}"
            f"  {-scores.mean():.3f} of one state",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, sources in (("web", ("train", "test")), ("titles", ("texts",))):
        command = commands.add_parser(name)
        for source in sources:
            command.add_argument(source, type=Path)
        command.add_argument("folder", type=Path)
        command.add_argument("--seeds", type=int, default=3)
        command.add_argument("--options", default="", help="further options of topicmc train")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    options = asked.options.split()
    if asked.command == "web":
        web(asked.train, asked.test, asked.folder, asked.seeds, options)
    else:
        titles(asked.texts, asked.folder, asked.seeds, options)


if __name__ == "__main__":
    main()
