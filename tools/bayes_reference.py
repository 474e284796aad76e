"""Articles classified as docs/explanation/bayes.md says, by scikit-learn: the reference of
crates/apps/tests/bayes.rs. Usage: bayes_reference.py CORPUS [--norm] [--remove-labels] [--test-percent N]
Writes the number of features, then for every article that is held back its page
number, its category and the one it got, between tabs.
"""

import argparse
import bz2
import re
from xml.etree import ElementTree

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.naive_bayes import ComplementNB

# In the order in which a Java HashSet of 64 places holds them.
CATEGORIES = """politics education regions industry language media society geography event art law
    sports cities nature health history countries technology transport philosophy people religion
    economics culture science""".split()

LINK = re.compile(r"\[\[Category:(.*?)\]\]", re.DOTALL)
WORD = re.compile(
    "[0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2fff\u3040-\U0010ffff]{2,}"
)
MASK = (1 << 64) - 1


def pages(path):
    """Title and text of each page, that of its latest revision; no text where it redirects."""
    with bz2.open(path) if path.endswith(".bz2") else open(path, "rb") as file:
        for _, element in ElementTree.iterparse(file):
            if element.tag.rpartition("}")[2] != "page":
                continue
            parts = {part.tag.rpartition("}")[2]: part for part in element}
            revisions = [part for part in element if part.tag.rpartition("}")[2] == "revision"]
            latest = max(reversed(revisions), key=lambda revision: revision.findtext("{*}timestamp") or "", default=element)
            text = latest.findtext("{*}text") or ""
            yield parts["title"].text, None if "redirect" in parts else text
            element.clear()


def category(text):
    for link in LINK.finditer(text):
        name = link[1].partition("|")[0].lower()
        for candidate in CATEGORIES:
            if candidate in name:
                return candidate
    return None


def held_back(title, percent=20, seed=1):
    """FNV-1a, begun with the seed, mixed by SplitMix64's finaliser."""
    z = 0xCBF29CE484222325 ^ seed
    for byte in title.encode():
        z = (z ^ byte) * 0x100000001B3 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return (z ^ z >> 31) % 100 < percent


def grams(text):
    """Words, and pairs of neighbours."""
    words = ["".join(map(str.lower, word)) for word in WORD.findall(text)]
    words = [word for word in words if len(word.encode()) <= 255]
    return words + [" ".join(pair) for pair in zip(words, words[1:])]


def features(texts, min_support=2, max_df=99):
    """Weights of all articles, √tf · idf, of length 1."""
    counts = CountVectorizer(analyzer=grams, dtype=np.float64).fit_transform(texts)
    often = np.asarray(counts.sum(axis=0)).ravel() >= min_support
    everywhere = 100 * np.asarray((counts > 0).sum(axis=0)).ravel() > max_df * counts.shape[0]
    kept = counts[:, np.flatnonzero(often & ~everywhere)]
    kept.data = np.sqrt(kept.data)
    return TfidfTransformer(norm="l2", smooth_idf=True).fit_transform(kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--norm", action="store_true")
    parser.add_argument("--remove-labels", action="store_true")
    parser.add_argument("--test-percent", type=int, default=20)
    options = parser.parse_args()
    numbers, labels, tests, texts = [], [], [], []
    for number, (title, text) in enumerate(pages(options.corpus)):
        label = text and category(text)
        if label:
            numbers.append(number)
            labels.append(label)
            tests.append(held_back(title, options.test_percent))
            texts.append(LINK.sub("", text) if options.remove_labels else text)
    weights, labels, tests = features(texts), np.array(labels), np.array(tests)
    model = ComplementNB(alpha=1.0, norm=options.norm).fit(weights[~tests], labels[~tests])
    print(weights.shape[1])
    for number, label, decided in zip(np.array(numbers)[tests], labels[tests], model.predict(weights[tests])):
        print(f"{number}\t{label}\t{decided}")


if __name__ == "__main__":
    main()
