"""The decoder-only translator: its layout, its training and the weights that ship."""

import numpy as np
import pytest

from helpers import corpus
from helpers.corpus.vocabulary import DATA
from helpers.explorers import decoder_only_translator as translator
from helpers.layers import nest
from helpers.layers.decoder_only import gpt2_shapes


@pytest.fixture(scope="module")
def vocabulary():
    return translator.load_vocabulary()


def test_layout(vocabulary):
    rows = [(("into", "German", ":"), ["the", "dog"], ["der", "Hund"]), (("English", ":"), ["he"], ["he"])]
    ids, answers, prompt_lengths = translator.lay_out(rows, vocabulary)
    assert vocabulary.ids_to_words(ids[0]) == ["into", "German", ":", "the", "dog", "<start>", "der", "Hund"]
    assert vocabulary.ids_to_words(answers[0]) == ["<pad>"] * 5 + ["der", "Hund", "<end>"]
    assert vocabulary.ids_to_words(ids[1]) == ["English", ":", "he", "<start>", "he"] + ["<pad>"] * 3
    assert vocabulary.ids_to_words(answers[1]) == ["<pad>"] * 3 + ["he", "<end>"] + ["<pad>"] * 3
    assert prompt_lengths.tolist() == [6, 4]


def test_the_corpus_keeps_its_ids(vocabulary):
    known = corpus.load_vocabulary()
    assert vocabulary.words[: len(known)] == known.words
    assert set(translator.NEW_WORDS).isdisjoint(known.words)
    for words in translator.TASKS.values():
        assert len(words) == translator.FULL
        assert vocabulary.unknown not in vocabulary.look_up(words)


def test_instructions_differ_at_every_length():
    for length in range(translator.SHORTEST, translator.FULL + 1):
        two = [translator.instruction(task, length) for task in translator.TASKS]
        assert two[0] != two[1]
        assert [len(words) for words in two] == [length, length]


def test_batches_are_mixed_and_follow_from_the_step(vocabulary):
    pairs = corpus.load_pairs("validation")
    first, again, second = (translator.draw_batch(pairs, step, vocabulary) for step in (1, 1, 2))
    assert all(map(np.array_equal, first, again))
    assert first.ids.shape != second.ids.shape or (first.ids != second.ids).any()
    asked = {vocabulary.ids["German"]: 0, vocabulary.ids["English"]: 0}
    for step in range(10):
        for row in translator.draw_batch(pairs, step, vocabulary).ids:
            asked[next(i for i in row.tolist() if i in asked)] += 1
    assert asked[vocabulary.ids["English"]] / sum(asked.values()) == pytest.approx(translator.REPEATED, abs=0.06)


def test_training_lowers_the_loss(vocabulary, monkeypatch):
    monkeypatch.setattr(translator, "WARM_UP", 5)
    losses, parameters = [], translator.new_model(vocabulary)
    translator.train(parameters, corpus.load_pairs("train"), vocabulary, 30, lambda step, loss: losses.append(loss))
    assert len(losses) == 30
    assert abs(losses[0] - np.log(len(vocabulary))) < 0.5
    assert np.mean(losses[-5:]) < losses[0] - 1.5


def test_the_weights_fit_the_settings(vocabulary):
    weights = nest.load(DATA / "decoder_only.npz")
    shapes = gpt2_shapes(len(vocabulary), **translator.SIZES)
    assert {path: array.shape for path, array in nest.walk(weights)} == dict(nest.walk(shapes))
    settings = translator.load_card()["settings"]
    assert settings == translator.SIZES | {
        "heads": translator.HEADS,
        "steps": translator.STEPS,
        "seed": translator.SEED,
        "parameters": nest.count(weights),
    }
    assert (DATA / "decoder_only.npz").stat().st_size <= 700_000


@pytest.mark.slow
def test_the_weights_translate_as_the_card_says(vocabulary):
    found = translator.load_card()["exact_match"]
    assert found["test"] >= 0.95 and found["validation"] >= 0.95
    measured = translator.exact_match(translator.load_model(), corpus.load_pairs("test"), vocabulary)
    assert measured == pytest.approx(found["test"], abs=0.003)


def test_the_same_weights_repeat_when_asked_to(vocabulary):
    sources = [source for source, _ in corpus.load_pairs("test")[:50]]
    rows = [(translator.instruction("repeat"), source) for source in sources]
    written = translator.follow(translator.load_model(), rows, vocabulary)
    assert sum(map(lambda ours, theirs: ours == theirs, written, sources)) >= 40


def test_making_writes_both_files(tmp_path, monkeypatch):
    monkeypatch.setattr(translator, "exact_match", lambda parameters, pairs, vocabulary: 0.5)
    translator.make(tmp_path, steps=1)
    weights = nest.load(tmp_path / "decoder_only.npz")
    assert {array.dtype for _, array in nest.walk(weights)} == {np.dtype(np.float16)}
    assert {path.name for path in tmp_path.iterdir()} == {"decoder_only.npz", "decoder_only.json"}
