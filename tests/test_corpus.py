"""The corpus: its German rule by rule, its files, its vocabulary, and a learner's own pairs."""

import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from helpers import corpus
from helpers.corpus import generator, words
from helpers.corpus.grammar import (
    PRONOUNS,
    Clause,
    both,
    english,
    german,
    it,
    name,
    noun_phrase,
    prepositional,
    pronoun,
)
from helpers.corpus.vocabulary import DATA, END, PAD, SPECIALS, START, UNKNOWN
from helpers.corpus.words import ACC, ADJECTIVES, DAT, NOUNS, VERBS, WEATHER

FILES = [f"{split}.tsv" for split in corpus.SPLITS] + ["vocabulary.tsv"]
VERB = {verb.infinitive: verb for verb in [*VERBS, *WEATHER]}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}


@pytest.fixture(scope="module")
def splits():
    return {split: corpus.load_pairs(split) for split in corpus.SPLITS}


@pytest.fixture(scope="module")
def vocabulary():
    return corpus.load_vocabulary()


# ---------------------------------------------------------------- the German, against sentences written by hand


def phrase(text, negated=False):
    """The phrase that an English text such as «three old men», «Anna» or «she» names."""
    parts = text.split()
    if text in PRONOUNS:
        return pronoun(text)
    if text in ("Anna", "Paul"):
        return name(text)
    if "and" in parts:
        return both(*(phrase(part) for part in text.split(" and ")))
    determiner = parts.pop(0) if parts[0] in ("the", "a", "an", "no", "my", "two", "three") else ""
    noun = next(noun for noun in NOUNS if parts[-1] in (noun.english, noun.english_plural))
    adjective = ADJECTIVE[parts[0]] if len(parts) == 2 else None
    plural = parts[-1] == noun.english_plural
    return noun_phrase(noun, "a" if determiner == "an" else determiner, adjective, plural, negated)


PREPOSITIONS = {
    "in": ("in", "in", DAT),
    "into": ("into", "in", ACC),
    "on": ("on", "auf", DAT),
    "under": ("under", "unter", DAT),
    "for": ("", "auf", ACC),  # the verb brings its own «for» and «to»
    "to": ("", "mit", DAT),
}


def clause(subject, verb, acc=None, dat=None, place=None, mode="present", no=False, **more):
    """A clause; ``verb`` is an infinitive, or an English adjective for «be»."""
    objects = [(phrase(text, no), case) for text, case in ((dat, DAT), (acc, ACC)) if text]
    where = None
    if place:
        preposition, rest = place.split(" ", 1)
        english_word, german_word, case = PREPOSITIONS[preposition]
        source, target = prepositional(english_word, german_word, phrase(rest), case)
        where = ([word for word in source if word], target)
    subject = it(subject[3:]) if subject.startswith("it ") else phrase(subject)
    verb, adjective = (None, ADJECTIVE[verb]) if verb in ADJECTIVE else (VERB[verb], None)
    return Clause(subject, verb, adjective, objects, where, mode, no, **more)


def main(*args, **more):
    made = clause(*args, **more)
    return [*english(made), "."], [*german(made), "."]


def after(adverb, *args, **more):
    made = clause(*args, **more)
    return [adverb, *english(made), "."], [words.FRONTED[adverb], *german(made, "inverted"), "."]


def ask(*args, **more):
    made = clause(*args, **more)
    return [*english(made, question=True), "?"], [*german(made, "inverted"), "?"]


def joined(first, conjunction, second):
    return generator.joined(first, conjunction, second)[:2]


def fronted(first, conjunction, second):
    return generator.fronted(first, conjunction, second)[:2]


OFTEN, YESTERDAY, TOMORROW = ("often", "oft"), ("yesterday", "gestern"), ("tomorrow", "morgen")
KNOWS = clause("the king", "wissen")
LAUGHS = clause("the king", "lachen")

# what the grammar makes, the English, the German
SENTENCES = [
    # gender and case of the definite article
    (main("the man", "sehen", "the woman"), "the man sees the woman", "der Mann sieht die Frau"),
    (main("the woman", "sehen", "the man"), "the woman sees the man", "die Frau sieht den Mann"),
    (main("the child", "sehen", "the house"), "the child sees the house", "das Kind sieht das Haus"),
    (main("the man", "helfen", dat="the child"), "the man helps the child", "der Mann hilft dem Kind"),
    (main("the girl", "helfen", dat="the queen"), "the girl helps the queen", "das Mädchen hilft der Königin"),
    (main("the women", "helfen", dat="the men"), "the women help the men", "die Frauen helfen den Männern"),
    (main("the king", "danken", dat="the girls"), "the king thanks the girls", "der König dankt den Mädchen"),
    (main("the dogs", "folgen", dat="the birds"), "the dogs follow the birds", "die Hunde folgen den Vögeln"),
    # ein, mein, kein
    (main("a man", "haben", "a dog"), "a man has a dog", "ein Mann hat einen Hund"),
    (main("a woman", "haben", "a cat"), "a woman has a cat", "eine Frau hat eine Katze"),
    (main("a child", "lesen", "a book"), "a child reads a book", "ein Kind liest ein Buch"),
    (main("I", "helfen", dat="a man"), "I help a man", "ich helfe einem Mann"),
    (main("I", "helfen", dat="a woman"), "I help a woman", "ich helfe einer Frau"),
    (main("my brother", "lieben", "my sister"), "my brother loves my sister", "mein Bruder liebt meine Schwester"),
    (main("my sister", "lieben", "my brothers"), "my sister loves my brothers", "meine Schwester liebt meine Brüder"),
    (main("she", "helfen", dat="my brothers"), "she helps my brothers", "sie hilft meinen Brüdern"),
    (main("he", "haben", "no car", no=True), "he has no car", "er hat kein Auto"),
    (main("he", "haben", "no brother", no=True), "he has no brother", "er hat keinen Bruder"),
    (main("we", "haben", "no sisters", no=True), "we have no sisters", "wir haben keine Schwestern"),
    # adjective endings: definite, indefinite, without article, plural
    (main("the old man", "lachen"), "the old man laughs", "der alte Mann lacht"),
    (main("she", "kennen", "the old man"), "she knows the old man", "sie kennt den alten Mann"),
    (main("she", "danken", dat="the old man"), "she thanks the old man", "sie dankt dem alten Mann"),
    (main("the small child", "lachen"), "the small child laughs", "das kleine Kind lacht"),
    (main("the old queens", "lachen"), "the old queens laugh", "die alten Königinnen lachen"),
    (main("an old man", "lachen"), "an old man laughs", "ein alter Mann lacht"),
    (main("a small child", "lachen"), "a small child laughs", "ein kleines Kind lacht"),
    (main("a young woman", "lachen"), "a young woman laughs", "eine junge Frau lacht"),
    (main("he", "sehen", "an old dog"), "he sees an old dog", "er sieht einen alten Hund"),
    (main("he", "kaufen", "a new house"), "he buys a new house", "er kauft ein neues Haus"),
    (main("he", "folgen", dat="a young cat"), "he follows a young cat", "er folgt einer jungen Katze"),
    (main("he", "sehen", "my old dogs"), "he sees my old dogs", "er sieht meine alten Hunde"),
    (main("I", "trinken", "cold milk"), "I drink cold milk", "ich trinke kalte Milch"),
    (main("I", "trinken", "cold water"), "I drink cold water", "ich trinke kaltes Wasser"),
    (main("I", "trinken", "hot tea"), "I drink hot tea", "ich trinke heißen Tee"),
    (main("they", "lesen", "old books"), "they read old books", "sie lesen alte Bücher"),
    (main("two small dogs", "schlafen"), "two small dogs sleep", "zwei kleine Hunde schlafen"),
    (main("I", "helfen", dat="three old men"), "I help three old men", "ich helfe drei alten Männern"),
    (main("the tired man", "schlafen"), "the tired man sleeps", "der müde Mann schläft"),
    (main("a tired dog", "schlafen"), "a tired dog sleeps", "ein müder Hund schläft"),
    # pronouns
    (main("he", "sehen", "she"), "he sees her", "er sieht sie"),
    (main("she", "sehen", "he"), "she sees him", "sie sieht ihn"),
    (main("he", "helfen", dat="she"), "he helps her", "er hilft ihr"),
    (main("she", "helfen", dat="they"), "she helps them", "sie hilft ihnen"),
    (main("they", "sehen", "I"), "they see me", "sie sehen mich"),
    (main("they", "danken", dat="I"), "they thank me", "sie danken mir"),
    (main("the dogs", "folgen", dat="we"), "the dogs follow us", "die Hunde folgen uns"),
    # two objects; the noun in the dative comes first
    (main("he", "geben", "an apple", "the girl"), "he gives the girl an apple", "er gibt dem Mädchen einen Apfel"),
    (main("she", "zeigen", "the letter", "he"), "she shows him the letter", "sie zeigt ihm den Brief"),
    # essen for people, fressen for animals; kennen with an object
    (main("the man", "essen", "an egg"), "the man eats an egg", "der Mann isst ein Ei"),
    (main("the cat", "fressen", "a mouse"), "the cat eats a mouse", "die Katze frisst eine Maus"),
    # places and goals
    (main("I", "arbeiten", place="in the garden"), "I work in the garden", "ich arbeite im Garten"),
    (main("I", "gehen", place="into the garden"), "I go into the garden", "ich gehe in den Garten"),
    (main("I", "gehen", place="into the house"), "I go into the house", "ich gehe ins Haus"),
    (main("she", "gehen", place="into the kitchen"), "she goes into the kitchen", "sie geht in die Küche"),
    (main("she", "singen", place="in the kitchen"), "she sings in the kitchen", "sie singt in der Küche"),
    (main("we", "wohnen", place="in a small house"), "we live in a small house", "wir wohnen in einem kleinen Haus"),
    (main("he", "wohnen", place="in the old house"), "he lives in the old house", "er wohnt im alten Haus"),
    (
        main("a cat", "schlafen", place="under the bed"),
        "a cat sleeps under the bed",
        "eine Katze schläft unter dem Bett",
    ),
    (main("a cat", "sitzen", place="on the table"), "a cat sits on the table", "eine Katze sitzt auf dem Tisch"),
    (main("I", "warten", place="for the man"), "I wait for the man", "ich warte auf den Mann"),
    (main("I", "sprechen", place="to the man"), "I talk to the man", "ich spreche mit dem Mann"),
    (main("I", "suchen", "the key"), "I look for the key", "ich suche den Schlüssel"),
    (main("the bag", "gehören", dat="she"), "the bag belongs to her", "die Tasche gehört ihr"),
    # perfect with haben and sein
    (main("he", "kaufen", "a car", mode="perfect"), "he has bought a car", "er hat ein Auto gekauft"),
    (main("I", "helfen", dat="he", mode="perfect"), "I have helped him", "ich habe ihm geholfen"),
    (
        main("they", "gehen", place="into the park", mode="perfect"),
        "they have gone into the park",
        "sie sind in den Park gegangen",
    ),
    (main("I", "folgen", dat="he", mode="perfect"), "I have followed him", "ich bin ihm gefolgt"),
    (main("she", "aufstehen", mode="perfect"), "she has got up", "sie ist aufgestanden"),
    # separable verbs
    (main("my sister", "anrufen", "he"), "my sister calls him", "meine Schwester ruft ihn an"),
    (main("we", "einladen", "the king"), "we invite the king", "wir laden den König ein"),
    (main("she", "einladen", "they", mode="perfect"), "she has invited them", "sie hat sie eingeladen"),
    (main("I", "anrufen", "Paul", mode="must"), "I must call Paul", "ich muss Paul anrufen"),
    (
        joined(KNOWS, "that", clause("Anna", "aufstehen")),
        "the king knows that Anna gets up",
        "der König weiß , dass Anna aufsteht",
    ),
    # modals, and «like to»
    (main("I", "singen", mode="can"), "I can sing", "ich kann singen"),
    (main("we", "kaufen", "bread", mode="must"), "we must buy bread", "wir müssen Brot kaufen"),
    (main("she", "lesen", "the letter", mode="want"), "she wants to read the letter", "sie will den Brief lesen"),
    (main("they", "essen", "soup", mode="want"), "they want to eat soup", "sie wollen Suppe essen"),
    (main("he", "lesen", "books", mode="like"), "he likes to read books", "er liest gern Bücher"),
    (main("I", "helfen", dat="she", mode="like"), "I like to help her", "ich helfe ihr gern"),
    # negation: nicht after what is known, before places and predicates; kein on what is new
    (main("I", "kennen", "the man", no=True), "I do not know the man", "ich kenne den Mann nicht"),
    (main("I", "sehen", "a man", no=True), "I do not see a man", "ich sehe keinen Mann"),
    (main("he", "trinken", "milk", no=True), "he does not drink milk", "er trinkt keine Milch"),
    (main("he", "kaufen", "new books", no=True), "he does not buy new books", "er kauft keine neuen Bücher"),
    (
        main("she", "schlafen", place="in the house", no=True),
        "she does not sleep in the house",
        "sie schläft nicht im Haus",
    ),
    (
        main("she", "warten", place="for the king", no=True),
        "she does not wait for the king",
        "sie wartet nicht auf den König",
    ),
    (main("the soup", "hot", no=True), "the soup is not hot", "die Suppe ist nicht heiß"),
    (
        main("he", "geben", "the ball", "the dog", no=True),
        "he does not give the dog the ball",
        "er gibt dem Hund den Ball nicht",
    ),
    (
        main("he", "geben", "a ball", "the girl", no=True),
        "he does not give the girl a ball",
        "er gibt dem Mädchen keinen Ball",
    ),
    (main("she", "anrufen", "the man", no=True), "she does not call the man", "sie ruft den Mann nicht an"),
    (
        main("she", "lesen", "the book", mode="perfect", no=True),
        "she has not read the book",
        "sie hat das Buch nicht gelesen",
    ),
    (
        main("I", "finden", "the key", mode="can", no=True),
        "I cannot find the key",
        "ich kann den Schlüssel nicht finden",
    ),
    (main("we", "lachen", mode="must", no=True), "we must not laugh", "wir dürfen nicht lachen"),
    (main("he", "kaufen", "a car", mode="want", no=True), "he does not want to buy a car", "er will kein Auto kaufen"),
    (
        main("she", "gehen", place="into the park", mode="past", no=True, time=YESTERDAY),
        "she did not go into the park yesterday",
        "sie ist gestern nicht in den Park gegangen",
    ),
    # adverbs: after what is known, before what is new
    (main("she", "lesen", "books", frequency=OFTEN), "she often reads books", "sie liest oft Bücher"),
    (main("she", "lesen", "the book", frequency=OFTEN), "she often reads the book", "sie liest das Buch oft"),
    (main("he", "happy", frequency=OFTEN), "he is often happy", "er ist oft glücklich"),
    (
        main("he", "kaufen", "a car", mode="past", time=YESTERDAY),
        "he bought a car yesterday",
        "er hat gestern ein Auto gekauft",
    ),
    (
        main("he", "kaufen", "the car", mode="past", time=YESTERDAY),
        "he bought the car yesterday",
        "er hat das Auto gestern gekauft",
    ),
    (main("he", "helfen", dat="I", mode="can", time=TOMORROW), "he can help me tomorrow", "er kann mir morgen helfen"),
    # inversion after a fronted adverb
    (
        after("yesterday", "she", "sehen", "a bird", mode="past"),
        "yesterday she saw a bird",
        "gestern hat sie einen Vogel gesehen",
    ),
    (
        after("yesterday", "the men", "tired", mode="past"),
        "yesterday the men were tired",
        "gestern waren die Männer müde",
    ),
    (after("today", "I", "arbeiten", mode="must"), "today I must work", "heute muss ich arbeiten"),
    (
        after("sometimes", "the girl", "anrufen", "I"),
        "sometimes the girl calls me",
        "manchmal ruft mich das Mädchen an",
    ),
    (
        after("sometimes", "the girl", "anrufen", "she"),
        "sometimes the girl calls her",
        "manchmal ruft das Mädchen sie an",
    ),
    (after("yesterday", "it n", "regnen", mode="past"), "yesterday it rained", "gestern hat es geregnet"),
    # questions
    (ask("the woman", "lesen", "the book"), "does the woman read the book", "liest die Frau das Buch"),
    (
        ask("the children", "essen", "an apple", mode="perfect"),
        "have the children eaten an apple",
        "haben die Kinder einen Apfel gegessen",
    ),
    (
        ask("the cat", "laufen", place="into the house", mode="perfect"),
        "has the cat run into the house",
        "ist die Katze ins Haus gelaufen",
    ),
    (ask("he", "singen", mode="can"), "can he sing", "kann er singen"),
    # subordinate clauses: the finite verb last, a comma before
    (
        joined(KNOWS, "that", clause("she", "kaufen", "a car", mode="perfect")),
        "the king knows that she has bought a car",
        "der König weiß , dass sie ein Auto gekauft hat",
    ),
    (
        joined(KNOWS, "that", clause("she", "kaufen", "a car", mode="must")),
        "the king knows that she must buy a car",
        "der König weiß , dass sie ein Auto kaufen muss",
    ),
    (
        joined(clause("I", "wissen", no=True), "whether", clause("the tea", "cold")),
        "I do not know whether the tea is cold",
        "ich weiß nicht , ob der Tee kalt ist",
    ),
    (
        joined(LAUGHS, "because", clause("he", "happy")),
        "the king laughs because he is happy",
        "der König lacht , weil er glücklich ist",
    ),
    (
        joined(LAUGHS, "although", clause("he", "arbeiten", mode="must")),
        "the king laughs although he must work",
        "der König lacht , obwohl er arbeiten muss",
    ),
    (
        joined(LAUGHS, "while", clause("the girls", "spielen", place="in the garden")),
        "the king laughs while the girls play in the garden",
        "der König lacht , während die Mädchen im Garten spielen",
    ),
    (
        joined(LAUGHS, "because", clause("it n", "schneien", mode="progressive")),
        "the king laughs because it is snowing",
        "der König lacht , weil es schneit",
    ),
    (
        fronted(LAUGHS, "when", clause("it n", "regnen")),
        "when it rains , the king laughs",
        "wenn es regnet , lacht der König",
    ),
    # «it» has the gender of what it stands for
    (
        joined(clause("the cat", "schlafen"), "because", clause("it f", "tired")),
        "the cat sleeps because it is tired",
        "die Katze schläft , weil sie müde ist",
    ),
    (
        joined(clause("the dog", "schlafen"), "because", clause("it m", "tired")),
        "the dog sleeps because it is tired",
        "der Hund schläft , weil er müde ist",
    ),
    (
        joined(clause("I", "kaufen", "the car"), "because", clause("it n", "new")),
        "I buy the car because it is new",
        "ich kaufe das Auto , weil es neu ist",
    ),
    # agreement
    (main("the man and the woman", "arbeiten"), "the man and the woman work", "der Mann und die Frau arbeiten"),
    (main("Anna", "tired"), "Anna is tired", "Anna ist müde"),
    (main("I", "tired"), "I am tired", "ich bin müde"),
    (main("the apples", "fresh"), "the apples are fresh", "die Äpfel sind frisch"),
]


@pytest.mark.parametrize(("made", "source", "target"), SENTENCES, ids=[source for _, source, _ in SENTENCES])
def test_sentence_written_by_hand(made, source, target):
    mark = made[0][-1]
    assert (" ".join(made[0]), " ".join(made[1])) == (f"{source} {mark}", f"{target} {mark}")


def test_unknown_word_order_is_refused():
    with pytest.raises(ValueError, match="'main', 'inverted' or 'subordinate'"):
        german(LAUGHS, "backwards")


# gender, singular and plural as a dictionary gives them
DICTIONARY = """
der Mann Männer, die Frau Frauen, der König Könige, die Königin Königinnen, das Kind Kinder, das Mädchen Mädchen,
die Mutter, der Vater, der Bruder Brüder, die Schwester Schwestern, der Hund Hunde, die Katze Katzen, das Pferd Pferde,
der Vogel Vögel, die Maus Mäuse, der Apfel Äpfel, das Ei Eier, die Suppe, das Brot, der Käse, das Wasser, die Milch,
der Tee, das Buch Bücher, der Brief Briefe, die Zeitung Zeitungen, das Auto Autos, die Tasche Taschen,
der Schlüssel Schlüssel, die Blume Blumen, das Bild Bilder, der Ball Bälle, die Tür, das Fenster, der Tisch, das Bett,
der Garten, die Küche, das Haus, die Stadt, der Park, der Wald, die Schule
"""


def test_nouns_agree_with_the_dictionary():
    article = {"m": "der", "f": "die", "n": "das"}
    ours = {" ".join([article[n.gender], n.german, n.german_plural]).strip() for n in NOUNS}
    assert ours == {" ".join(entry.split()) for entry in DICTIONARY.split(",")}
    for noun in NOUNS:
        assert bool(noun.english_plural) == bool(noun.german_plural), noun.english
        assert noun.german[0].isupper() and (not noun.german_plural or noun.german_plural[0].isupper())


def test_dative_plurals():
    ours = {noun.german_plural: noun.german_dative_plural for noun in NOUNS if noun.german_plural}
    assert ours["Männer"] == "Männern" and ours["Frauen"] == "Frauen" and ours["Autos"] == "Autos"
    assert all(dative[-1] in "ns" for dative in ours.values())


def test_no_word_of_the_tables_is_ambiguous():
    """One German noun and adjective for each English one; verbs of one English form differ in what they take."""
    for table in (NOUNS, ADJECTIVES):
        assert max(Counter(entry.english for entry in table).values()) == 1
        assert max(Counter(entry.german for entry in table).values()) == 1
    seen = {}
    for verb in VERBS:
        for other in seen.get((verb.english[0], verb.english_after), []):
            subjects = [frozenset().union(*(subject for subject, _ in v.frames)) for v in (verb, other)]
            assert verb.pattern != other.pattern or not subjects[0] & subjects[1], verb.english[0]
        seen.setdefault((verb.english[0], verb.english_after), []).append(verb)


# ---------------------------------------------------------------- the files


def test_rebuild_is_the_same_byte_for_byte(tmp_path):
    generator.write_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    for file in FILES:
        assert (tmp_path / file).read_bytes() == (DATA / file).read_bytes(), f"{file}: run `make data`"


def test_make_data_knows_its_steps():
    tool = DATA.parent / "tools" / "data.py"
    run = subprocess.run([sys.executable, tool, "corpse"], capture_output=True, text=True)
    assert run.returncode == 1 and "no such step: corpse; steps are corpus" in run.stderr


def test_no_sentence_is_shared_between_splits(splits):
    for side in (0, 1):
        seen = {}
        for split, pairs in splits.items():
            for sentence in {tuple(pair[side]) for pair in pairs}:
                assert sentence not in seen, f"{' '.join(sentence)}: in {split} and {seen[sentence]}"
                seen[sentence] = split


def test_an_english_sentence_has_one_german_sentence(splits):
    """In the files, and for fresh draws: the grammar never gives a sentence a second translation."""
    german_of = {tuple(source): tuple(target) for pairs in splits.values() for source, target in pairs}
    draw, met = generator.Draw(1), 0
    for _ in range(10_000):
        _, source, target, _ = generator.draw_sentence(draw, generator.TEMPLATES)
        met += tuple(source) in german_of
        assert german_of.setdefault(tuple(source), tuple(target)) == tuple(target), " ".join(source)
    assert met > 500


def test_sizes_and_lengths(splits):
    assert {split: len(pairs) for split, pairs in splits.items()} == generator.SIZES
    assert sum(len(splits[split]) for split in ("train", "validation", "test")) >= 20_000
    for split, pairs in splits.items():
        assert len({tuple(source) for source, _ in pairs}) == len(pairs), f"{split} repeats a sentence"
        longest = max(len(source) for source, _ in pairs), max(len(target) for _, target in pairs)
        limit = (18, 20) if split == "longer" else (12, 14)
        assert longest[0] <= limit[0] and longest[1] <= limit[1]
    assert all(len(source) > 12 or len(target) > 14 for source, target in splits["longer"])


def test_sentences_are_well_formed(splits):
    for split, pairs in splits.items():
        for source, target in pairs:
            assert source[-1] == target[-1] and source[-1] in (".", "?"), f"{split}: {source}"
            assert "" not in source + target and not {*SPECIALS} & {*source, *target}
    commas = [target for source, target in splits["train"] if {"because", "that", "whether", "although"} & {*source}]
    assert commas and all("," in target for target in commas)


def test_every_word_can_be_learned(splits):
    """No split uses a word that training lacks, and training has each word several times."""
    counts = Counter(word for pair in splits["train"] for words in pair for word in words)
    assert min(counts.values()) >= 10, counts.most_common()[-5:]
    for pairs in splits.values():
        assert {word for pair in pairs for words in pair for word in words} <= counts.keys()


def test_combined_holds_what_training_lacks(splits):
    """Questions with two objects or a separable verb; «must not» and «like to» in a subordinate clause."""

    def kinds(source):
        text = " ".join(source)
        if source[-1] == "?":
            return re.search(r"\b(gives?|given|shows?|shown|calls?|called|invited?|invites|get up|got up)\b", text)
        return re.search(r"\b(that|whether|because|although|when|while)\b.*\b(must not|likes? to)\b", text)

    assert all(kinds(source) for source, _ in splits["combined"])
    fronted = re.compile(r"^(when|although|while)\b")  # there the words after the comma are the main clause
    in_training = [source for source, _ in splits["train"] if kinds(source) and not fronted.match(" ".join(source))]
    assert not in_training


def test_the_draw_is_the_published_generator():
    """First numbers of splitmix64 from state 0, as its authors give them."""
    draw = generator.Draw(0)
    assert [draw.below(2**64) for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_examples(splits, vocabulary):
    listed = {" ".join(source) for pairs in splits.values() for source, _ in pairs}
    for source, target, shows in corpus.EXAMPLES:
        assert source not in listed
        assert corpus.tokenize(source, vocabulary) == source.split(" ")
        assert {*target.split(" ")} <= vocabulary.target_words and shows


# ---------------------------------------------------------------- vocabulary and batches


def test_vocabulary(vocabulary, splits):
    special = [vocabulary.pad, vocabulary.start, vocabulary.end, vocabulary.unknown]
    assert [vocabulary.words[i] for i in special] == [PAD, START, END, UNKNOWN]
    assert len({*special}) == 4 and len({*vocabulary.words}) == len(vocabulary)
    assert vocabulary == corpus.build_vocabulary(splits["train"])
    ids = vocabulary.words_to_ids(["the", "dog", "xyz"])
    assert ids.dtype == np.int64 and ids[2] == vocabulary.unknown
    assert vocabulary.ids_to_words(ids) == ["the", "dog", UNKNOWN]
    # ids must never move: trained weights depend on them
    assert vocabulary.words_to_ids([".", "in", "Anna"]).tolist() == [5, 10, 7]
    assert vocabulary.source_words & vocabulary.target_words == {",", ".", "?", "Anna", "Paul", "an", "in"}


def test_sentence_ends_at_the_end_token(vocabulary):
    ids = [vocabulary.start, *vocabulary.words_to_ids(["der", "Hund"]), vocabulary.end, vocabulary.pad]
    assert vocabulary.sentence([*ids, *ids]) == ["der", "Hund"]
    assert vocabulary.sentence([*vocabulary.words_to_ids(["der"]), vocabulary.pad]) == ["der"]
    with pytest.raises(ValueError, match="0..") as error:
        vocabulary.sentence([len(vocabulary)])
    assert str(len(vocabulary) - 1) in str(error.value)


def test_encode_batch(vocabulary, splits):
    pairs = splits["train"][:7]
    batch = corpus.encode_batch(pairs, vocabulary)
    S_src, S_tgt = max(len(s) for s, _ in pairs), max(len(t) for _, t in pairs) + 1
    assert batch.src.shape == (7, S_src)
    assert batch.tgt_in.shape == batch.tgt_out.shape == (7, S_tgt)
    for i, (source, target) in enumerate(pairs):
        n, m = batch.src_lengths[i], batch.tgt_lengths[i]
        assert vocabulary.ids_to_words(batch.src[i, :n]) == source
        assert vocabulary.ids_to_words(batch.tgt_in[i, :m]) == [START, *target]
        assert vocabulary.ids_to_words(batch.tgt_out[i, :m]) == [*target, END]
        assert (batch.src[i, n:] == vocabulary.pad).all() and (batch.tgt_in[i, m:] == vocabulary.pad).all()
        assert (batch.tgt_out[i, m:] == vocabulary.pad).all()
    for bad in ([], [(["the"], [])]):
        with pytest.raises(ValueError, match="empty"):
            corpus.encode_batch(bad, vocabulary)


def test_batches(splits):
    pairs = splits["test"]
    made = list(corpus.batches(pairs, 64, np.random.default_rng(0)))
    assert [len(batch) for batch in made] == [64] * 15 + [40]
    flat = [pair for batch in made for pair in batch]
    assert flat != pairs and sorted(flat) == sorted(pairs)
    assert flat == [pair for batch in corpus.batches(pairs, 64, np.random.default_rng(0)) for pair in batch]
    assert [pair for batch in corpus.batches(pairs, 64) for pair in batch] == pairs
    with pytest.raises(ValueError, match="size is 0"):
        list(corpus.batches(pairs, 0))


def test_load_pairs_refuses_another_name():
    with pytest.raises(ValueError, match="train, validation, test, longer, combined"):
        corpus.load_pairs("dev")


# ---------------------------------------------------------------- typed sentences


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("The dog sleeps.", "the dog sleeps ."),
        ("  when IT rains,the cat sleeps  ", "when it rains , the cat sleeps ."),
        ("i cannot see anna", "I cannot see Anna ."),
        ("Doesn't she see him?", "does not she see him ?"),
        ("I can’t sleep", "I cannot sleep ."),
        ("He can  not sing.", "he cannot sing ."),
    ],
)
def test_tokenize(vocabulary, typed, expected):
    words = corpus.tokenize(typed, vocabulary)
    assert words == expected.split(" ")
    assert vocabulary.unknown not in vocabulary.words_to_ids(words)


def test_tokenize_says_what_is_not_known_and_what_is(vocabulary):
    with pytest.raises(corpus.UnknownWords) as error:
        corpus.tokenize("the dragon sleping in the castle", vocabulary)
    message = str(error.value)
    assert error.value.words == ["dragon", "sleping", "castle"]
    assert message.startswith("not in the vocabulary: dragon, sleping, castle")
    assert "instead of sleping, perhaps: " in message
    assert {*vocabulary.source_words} <= {*message.split()}
    for text, reason in (("", "empty"), (" ?", "empty"), ("dog " * 21, "at most 20")):
        with pytest.raises(ValueError, match=reason):
            corpus.tokenize(text, vocabulary)


def test_join_words():
    assert corpus.join_words(["wenn", "es", "regnet", ",", "lacht", "er", "."]) == "Wenn es regnet, lacht er."
    assert corpus.join_words([]) == ""


# ---------------------------------------------------------------- a learner's own pairs

FAULTS = [
    ("no tab", b"the cat sleeps .", "no tab"),
    ("two tabs", b"a cat\teine Katze\tcat", "2 tabs"),
    ("empty source", b" \tdie Katze", "the source is empty"),
    ("empty target", b"the cat\t", "the target is empty"),
    ("bad encoding", "the girl\tdas Mädchen".encode("latin-1"), "not UTF-8: byte 0xe4 at position 15"),
    ("duplicate", b"the  dog .\tder Hund.", "the same pair as line 1"),
    ("source too long", b"dog " * 21 + b"\tHund", "the source has 21 words"),
    ("target too long", b"dog\t" + b"Hund " * 25, "the target has 25 words"),
    ("special token", b"the <pad> dog\tder Hund", "contains the special token <pad>"),
]


@pytest.mark.parametrize(("line", "message"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_reported_with_its_line(tmp_path, line, message):
    path = tmp_path / "own.tsv"
    path.write_bytes(b"the dog.\tder Hund.\n" + line + b"\nthe cat\tdie Katze\n")
    pairs, report = corpus.read_pairs(path)
    assert pairs == [(["the", "dog", "."], ["der", "Hund", "."]), (["the", "cat"], ["die", "Katze"])]
    assert [number for number, _ in report.problems] == [2] and message in report.problems[0][1]
    assert f"line 2: {report.problems[0][1]}" in str(report)
    assert "own.tsv: 3 lines, 2 pairs read, 1 lines left out" in str(report)
    with pytest.raises(corpus.PairsError, match="line 2") as error:
        corpus.read_pairs(path, strict=True)
    assert error.value.report.problems == report.problems


def test_what_is_put_right_is_noted(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_bytes("\ufeffthe dog\tder Hund\r\n\r\nthe girl\tdas Ma\u0308dchen\r\nthe dog\tdem Hund\r\n".encode())
    pairs, report = corpus.read_pairs(path, strict=True)
    assert pairs == [
        (["the", "dog"], ["der", "Hund"]),
        (["the", "girl"], ["das", "M\u00e4dchen"]),
        (["the", "dog"], ["dem", "Hund"]),
    ]
    assert not report.problems and report.lines == 4
    noted = "\n".join(f"{line} {message}" for line, message in report.notes)
    for expected in ("1 Windows", "1 byte-order mark", "2 blank", "3 accents", "4 the source of line 1 with another"):
        assert expected in noted
    assert "noted:" in str(report) and "left out:" not in str(report)


def test_every_line_is_accounted_for(tmp_path):
    """Pairs read, lines left out and blank lines add up to the lines of the file."""
    path = tmp_path / "own.tsv"
    path.write_bytes(b"\n".join([b"the dog .\tder Hund .", b"", *(fault[1] for fault in FAULTS)]) + b"\n")
    pairs, report = corpus.read_pairs(path)
    blank = sum("blank" in message for _, message in report.notes)
    assert len(pairs) + len(report.problems) + blank == report.lines == 2 + len(FAULTS)
    assert [line for line, _ in report.problems] == list(range(3, 3 + len(FAULTS)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_another_encoding_of_the_whole_file(tmp_path, encoding):
    path = tmp_path / "own.tsv"
    path.write_bytes("\ufeff".encode(encoding) + "the dog\tder Hund\n".encode(encoding))
    pairs, report = corpus.read_pairs(path)
    assert pairs == [] and "UTF-16" in report.problems[0][1]


def test_an_empty_file_and_a_long_report(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_bytes(b"")
    with pytest.raises(corpus.PairsError, match="no pairs"):
        corpus.read_pairs(path, strict=True)
    path.write_text("no tab here\n" * 14)
    _, report = corpus.read_pairs(path)
    assert len(report.problems) == 14 and "  and 4 more" in str(report)
    with pytest.raises(FileNotFoundError):
        corpus.read_pairs(tmp_path / "missing.tsv")


def test_own_pairs_make_a_vocabulary_and_batches(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_text("le chien dort .\tthe dog sleeps .\n", encoding="utf-8")
    pairs, _ = corpus.read_pairs(path)
    own = corpus.build_vocabulary(pairs)
    assert own.words == (*SPECIALS, ".", "chien", "dort", "le", "dog", "sleeps", "the")
    assert own.sentence(corpus.encode_batch(pairs, own).tgt_out[0]) == ["the", "dog", "sleeps", "."]


# ---------------------------------------------------------------- the data card


def test_card_states_the_sizes(splits, vocabulary):
    card = (DATA / "README.md").read_text(encoding="utf-8")
    for split, pairs in splits.items():
        longest = f"{max(len(s) for s, _ in pairs)} | {max(len(t) for _, t in pairs)}"
        row = f"| `{split}.tsv` | {len(pairs):,} | {longest} |"
        assert row in card, f"expected in data/README.md: {row}"
    shared = len(vocabulary.source_words & vocabulary.target_words)
    for number, what in (
        (len(vocabulary), "entries"),
        (len(vocabulary.source_words), "English"),
        (len(vocabulary.target_words), "German"),
        (shared, "in both languages"),
    ):
        assert f"{number} {what}" in card, f"expected in data/README.md: {number} {what}"
