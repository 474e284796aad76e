"""A MediaWiki export as a table of labelled articles: what docs/explanation/bayes.md has under
Pages, Labels, Words and Split, in Spark's own functions, so that no text goes
through Python. The program writes it so that no tag stands in text and titles and a page has
one revision.
"""

from pyspark.sql import functions as F

#: In the order in which a Java HashSet of 64 places holds them: the first counts.
CATEGORIES = """politics education regions industry language media society geography event art law
    sports cities nature health history countries technology transport philosophy people religion
    economics culture science""".split()
#: A label is a place in this list.
LABELS = sorted(CATEGORIES)

LINK = r"(?s)\[\[Category:(.*?)\]\]"
WORD = r"[0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2fff\u3040-\x{10ffff}]{2,}"
#: The most bytes that a word has.
LONGEST = 255
#: Characters between words whose lower case would be a letter: the signs of kelvin,
#: angstrom and ohm. Σ has another lower case at a word's end: here it has not.
INSTEAD = {"\u03a3": "\u03c3", "\u212a": " ", "\u212b": " ", "\u2126": " "}
#: The only character whose lower case is longer.
GROWS = "\u0130"
#: As XML has them; the ampersand last, so that each is resolved once.
ESCAPES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
#: Rows of a partition are numbered by `monotonically_increasing_id` from its number
#: times this.
PARTITION = 1 << 33


def pages(session, path, parts):
    """`id` and `xml` of every page, read in parallel and dealt by `id`."""
    session.conf.set("spark.sql.files.minPartitionNum", parts)
    session.conf.set("spark.sql.files.openCostInBytes", 0)
    read = session.read.option("lineSep", "</page>").text(f"file://{path}")
    read = read.select(F.monotonically_increasing_id().alias("id"), "value")
    read = read.where(F.contains("value", F.lit("<page>")))
    return read.selectExpr("id", "substr(value, instr(value, '<page>')) AS xml").repartition(parts, "id")


def labelled(pages, remove_labels, percent, seed):
    """`id`, `label`, `test` and `text` of the pages that have a label."""
    title = part("xml", r"<title[^>]*>([^<]*)</title>", "page/title")
    text = part("xml", r"<text[^>]*>([^<]*)</text>", "page/revision/text")
    found = pages.where(~F.contains("xml", F.lit("<redirect"))).select("id", title.alias("title"), text.alias("text"))
    # Not as a condition: it would be computed once for that, and again for the table.
    found = found.select("*", F.explode(labels("text")).alias("label"))
    text = F.regexp_replace("text", LINK, "") if remove_labels else F.col("text")
    return found.select("id", "label", held_back("title", percent, seed).alias("test"), text.alias("text"))


def part(xml, pattern, path):
    """What a tag encloses. References to characters by number, which exports do not
    have, take the slow way."""
    quick = F.regexp_extract(xml, pattern, 1)
    quick = replaced(quick, ESCAPES)
    whole = F.concat(xml, F.lit("</page>"))
    return F.when(F.contains(xml, F.lit("&#")), F.xpath_string(whole, F.lit(path))).otherwise(quick)


def replaced(text, by):
    for one, other in by.items():
        text = F.replace(text, F.lit(one), F.lit(other))
    return text


def labels(text):
    """The places in LABELS of the first link's category that has one: one or none."""
    def of(name):
        found = F
        for category in CATEGORIES:
            found = found.when(F.contains(name, F.lit(category)), LABELS.index(category))
        return found

    links = F.regexp_extract_all(text, F.lit(LINK), 1)
    # Without its sort key.
    name = lambda link: F.lower(F.substring_index(link, "|", 1))
    return F.slice(F.filter(F.transform(links, lambda link: of(name(link))), F.isnotnull), 1, 1)


def held_back(title, percent, seed):
    """Whether an article is for the test: FNV-1a of its title, begun with the seed,
    mixed by SplitMix64's finaliser, modulo 100. Numbers of 64 bits wrap round."""
    def xor(one, other):
        return one.bitwiseXOR(other)

    def mixed(z):
        z = xor(z, F.shiftrightunsigned(z, 30)) * signed(0xBF58476D1CE4E5B9)
        z = xor(z, F.shiftrightunsigned(z, 27)) * signed(0x94D049BB133111EB)
        return xor(z, F.shiftrightunsigned(z, 31))

    pairs = F.regexp_extract_all(F.hex(title), F.lit(".."), 0)
    octet = lambda pair: F.conv(pair, 16, 10).cast("bigint")
    step = lambda z, pair: xor(z, octet(pair)) * signed(0x100000001B3)
    z = F.aggregate(pairs, signed(0xCBF29CE484222325 ^ seed), step, mixed)
    # The remainder as if the number had no sign.
    half = F.shiftrightunsigned(z, 1) % 50
    return (half * 2 + z.bitwiseAND(F.lit(1))) % 100 < percent


def signed(number):
    """A number of 64 bits as Spark has it."""
    return F.lit(number - (1 << 64) if number >= 1 << 63 else number).cast("bigint")


def words(text):
    """All words of a text, in order."""
    text = replaced(text, INSTEAD)
    quick = F.regexp_extract_all(F.lower(text), F.lit(WORD), 0)
    # A word of one letter would become one of two.
    slow = F.transform(F.regexp_extract_all(text, F.lit(WORD), 0), F.lower)
    found = F.when(F.contains(text, F.lit(GROWS)), slow).otherwise(quick)
    return F.filter(found, lambda word: F.octet_length(word) <= LONGEST)


def numbered(pages):
    """Each page's `number` in the export beside its `id`: partitions of a file are
    in its order, and so are their rows."""
    counts = pages.groupBy((F.col("id") / PARTITION).cast("int").alias("part")).count().collect()
    begins, number = {}, 0
    for row in sorted(counts):
        begins[row.part] = number
        number += row["count"]
    begins = F.create_map(*[F.lit(x) for pair in begins.items() for x in pair])
    begin = F.element_at(begins, (F.col("id") / PARTITION).cast("int"))
    return pages.select("id", (begin + F.col("id") % PARTITION).alias("number"))
