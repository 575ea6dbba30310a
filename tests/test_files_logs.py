"""Logs of language models' answers."""

from __future__ import annotations

import json
import math
import zipfile

import numpy as np
import pytest

import calibrant as cal
from calibrant import files
from calibrant.files.completions import answer_of
from calibrant.files.harness import is_harness_sample


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def sample(doc_id, target, *values, **more):
    """As lm-evaluation-harness writes it: numbers as texts, each with whether it is the greedy answer."""
    asked = {f"gen_args_{k}": {"arg_0": "Q", "arg_1": f" choice {k}"} for k in range(len(values))}
    pairs = [[str(value), "False"] for value in values]
    return {"doc_id": doc_id, "target": str(target), "arguments": asked, "filtered_resps": pairs} | more


def test_choices_are_a_softmax_of_their_log_likelihoods(tmp_path):
    path = lines(tmp_path / "samples_x.jsonl", sample(0, 2, -3.0, -1.0, -2.0), sample(1, 0, -0.5, -0.7, -9.0, acc=1.0))
    found = cal.read(path)
    expected = np.exp([-3.0, -1.0, -2.0])
    assert found.probs[0] == pytest.approx(expected / expected.sum(), abs=1e-15)
    assert (found.labels.tolist(), found.n_classes, found.groups) == ([2, 0], 3, None)
    assert files.read_with_columns(path)[1].meaning == "softmax of the choices' log-likelihoods"
    assert cal.scan(path, progress=False).n == 2


def test_documents_that_occur_again_are_groups(tmp_path):
    path = lines(tmp_path / "s.jsonl", *(sample(k % 2, 0, -1.0, -2.0) for k in range(4)))
    assert cal.read(path).groups.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("target", ["choice 1", [1], "1"])
def test_a_target_may_be_a_text_or_a_list(tmp_path, target):
    record = sample(0, 0, -3.0, -1.0) | {"target": target}
    assert cal.read(lines(tmp_path / "s.jsonl", record)).labels.tolist() == [1]


def test_other_numbers_of_choices_and_other_grades_give_confidence_and_grade(tmp_path):
    path = lines(tmp_path / "s.jsonl", sample(0, 0, -1.0, -2.0), sample(1, 2, -1.0, -2.0, -1.5))
    found, chosen = files.read_with_columns(path)
    assert (found.labels.tolist(), chosen.label, chosen.predicted) == ([1, 0], "correct", ("confidence",))
    assert found.probs[0] == pytest.approx(1 / (1 + math.exp(-1)))
    graded = lines(
        tmp_path / "g.jsonl", sample(0, "a sentence", -1.0, -2.0, acc=0.0)
    )  # as winogrande: target is no choice
    assert files.read_with_columns(graded)[0].labels.tolist() == [0]
    with pytest.raises(cal.FileError, match="sample 0 has no target among its choices, and no acc"):
        cal.read(lines(tmp_path / "n.jsonl", sample(0, "a sentence", -1.0, -2.0)))
    with pytest.raises(cal.FileError, match=r"sample 1 \(doc_id 7\) has no log-likelihoods of two or more choices"):
        cal.read(lines(tmp_path / "m.jsonl", sample(0, 0, -1.0, -2.0), sample(7, 0, -1.0)))


def test_choices_without_a_context_do_not_count(tmp_path):
    record = sample(0, 0, -1.0, -2.0, -5.0, -6.0, acc_mutual_info=1.0)
    for name in ("gen_args_2", "gen_args_3"):
        record["arguments"][name]["arg_0"] = ""
    assert cal.read(lines(tmp_path / "s.jsonl", record)).n_classes == 2
    record["arguments"]["gen_args_1"]["arg_0"] = ""  # as older versions: every other one
    record["arguments"]["gen_args_2"]["arg_0"] = "Q"
    found = cal.read(lines(tmp_path / "s.jsonl", record))
    assert found.probs[0, 0] == pytest.approx(1 / (1 + math.exp(-4)))


def test_generated_texts_are_no_choices(tmp_path):
    record = {"doc_id": 0, "target": "42", "resps": [["It is 42"]], "filtered_resps": ["42"], "exact_match": 1.0}
    record |= {"f1": ["42", ["42"]], "doc": {"question": "?"}}  # a list that no column can hold
    assert not is_harness_sample(record)
    path = lines(tmp_path / "s.jsonl", record, record | {"doc_id": 1})
    with pytest.raises(cal.FileError, match="no column that is named for probabilities or logits; it has 'doc_id'"):
        cal.read(path, label="exact_match")
    told = lines(tmp_path / "c.jsonl", *(record | {"exact_match": k, "confidence": 0.8} for k in (1.0, 0.0)))
    found = cal.read(told, label="exact_match")
    assert (found.labels.tolist(), found.groups.tolist()) == ([1, 0], [0, 0])


def test_a_grade_may_be_a_truth_value(tmp_path):
    path = lines(tmp_path / "s.jsonl", sample(0, "a sentence", -1.0, -2.0, acc=True))
    assert cal.read(path).labels.tolist() == [1]


INSPECT = {"version": 2, "status": "success", "eval": {"task": "t", "model": "ours/one"}}


def inspected(number, value, *, epoch=1, **more):
    return {"id": number, "epoch": epoch, "input": "?", "target": "A", "scores": {"match": {"value": value} | more}}


SAMPLES = [
    inspected(1, "C", metadata={"confidence": 90}),
    inspected(2, "I", metadata={"confidence": 70}),
    inspected(3, "N", metadata={"confidence": 10}),
]


def as_eval(path, samples, head="header.json"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(head, json.dumps(INSPECT))
        archive.writestr("summaries.json", "[]")
        for each in samples:
            archive.writestr(f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each))
    return path


@pytest.mark.parametrize("head", ["header.json", "_journal/start.json", "start.json"])
def test_inspect_logs_of_both_forms_say_the_same(tmp_path, head):
    plain = tmp_path / "log.json"
    plain.write_text(json.dumps(INSPECT | {"samples": SAMPLES}))
    for path in (plain, as_eval(tmp_path / "log.eval", SAMPLES, head)):
        found = files.read_answers(path, percent=True, abstentions="count")
        assert found.labels.tolist() == [True, False, False]
        assert found.probs == pytest.approx([0.9, 0.7, np.nan], nan_ok=True)
        assert (found.model, found.columns.meaning) == ("ours/one", "stated by the model")
        assert found.questions.tolist() == ["1", "2", "3"]


def test_epochs_are_groups_and_other_scores_have_names(tmp_path):
    again = [inspected(k, "C", epoch=e, metadata={"confidence": 0.5}) for e in (2, 1) for k in (1, 2)]
    found = files.read_answers(as_eval(tmp_path / "log.eval", again))
    assert found.groups.tolist() == ["1", "2", "1", "2"]
    two = [each | {"scores": each["scores"] | {"judge": {"value": 0.0, "answer": "B"}}} for each in SAMPLES]
    path = as_eval(tmp_path / "two.eval", two)
    columns = {"label": "scores.judge.value", "probs": "scores.match.metadata.confidence", "percent": True}
    assert files.read_answers(path, **columns).labels.tolist() == [False] * 3
    with pytest.raises(cal.FileError, match=r"no column that is named for .*'scores.match.value'"):
        cal.read(path)


def test_chunked_samples_log_probabilities_and_scores_that_are_missing(tmp_path):
    output = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": -0.25}]}}]}
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(INSPECT))
        for number, value in ((1, "C"), (2, math.nan)):
            each = inspected(number, value) | {"output": output}
            archive.writestr(f"samples/{number}_epoch_1/sample.json", json.dumps(each))
            archive.writestr(f"samples/{number}_epoch_1/messages/0.json", "[]")
    found = files.read_answers(path, missing="drop")
    assert found.probs == pytest.approx([math.exp(-0.25)])
    assert (found.columns.dropped, found.columns.meaning) == (1, "probability of the answer's token")


def test_archives_that_cannot_be_used_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(cal.FileError, match=r"log\.eval': it is damaged"):
        cal.read(path)
    path.write_text("no zip at all")
    with pytest.raises(cal.FileError, match=r"log\.eval': it is damaged"):
        cal.read(path)
    with pytest.raises(cal.FileError, match="holds no samples"):
        cal.read(as_eval(path, []))
    bomb = as_eval(path, [SAMPLES[0] | {"input": "0" * 10**7}])
    assert bomb.stat().st_size < 10**5
    monkeypatch.setenv("CALIBRANT_MAX_BYTES", str(10**7))
    with pytest.raises(cal.FileError, match=r"what it unpacks to would take 0.06 GB of memory"):
        cal.read(bomb)


def test_lists_of_records_and_other_json(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('[{"label": 1, "p": {"yes": 0.75}}, {"label": 0, "p": {"yes": 0.5}}]')
    assert cal.read(path, probs="p.yes").probs.tolist() == [0.75, 0.5]
    path.write_text('{"label": 1}')
    with pytest.raises(cal.FileError, match="must be an Inspect log with samples, or a list of records"):
        cal.read(path)
    path.write_text('[{"label": 1, "prob": 0.5}, {"label": [1], "prob": 0.5}]')
    with pytest.raises(cal.FileError, match="column 'label' holds values of different kinds"):
        cal.read(path)


def token(text, value, *others):
    return {"token": text, "logprob": value, "top_logprobs": [{"token": t, "logprob": v} for t, v in others]}


def completion(text, *tokens):
    return {"choices": [{"message": {"role": "assistant", "content": text}, "logprobs": {"content": list(tokens)}}]}


def test_a_token_counts_with_those_that_read_the_same():
    found = answer_of(completion(" B", token(" B", -0.5, (" B", -0.5), ("B", -2.0), ("A", -1.5))))
    assert found[0] == "B"
    assert found[1] == pytest.approx(math.exp(-0.5) + math.exp(-2.0))
    several = answer_of(completion("New York", token("New", -0.1), token(" York", -0.2), token("\n", -3.0)))
    assert several[1] == pytest.approx(math.exp(-0.3))
    assert several[2] == "product of the probabilities of the answer's tokens"
    assert answer_of({"choices": [{"message": {"content": "B"}, "logprobs": None}]}) == ("B", None, "")
    assert answer_of({}) == (None, None, "")


@pytest.mark.parametrize("wrap", [lambda c: c, lambda c: {"response": {"status_code": 200, "body": c}}])
def test_chat_completions_beside_their_targets(tmp_path, wrap):
    rows = [completion("A", token("A", -0.1)), completion("B", token("B", -0.7))]
    path = lines(
        tmp_path / "chat.jsonl", *(wrap(row) | {"custom_id": f"q{k}", "target": "A"} for k, row in enumerate(rows))
    )
    found = files.read_answers(path)
    assert found.labels.tolist() == [True, False]
    assert found.probs == pytest.approx(np.exp([-0.1, -0.7]))
    assert (found.questions.tolist(), found.columns.pred) == (["q0", "q1"], "pred")


def test_a_broken_line_of_a_log_is_named(tmp_path):
    path = lines(tmp_path / "s.jsonl", sample(0, 0, -1.0, -2.0))
    path.write_text(path.read_text() + '{"doc_id": \n')
    with pytest.raises(cal.FileError, match="line 2 is not JSON"):
        cal.read(path)
    path.write_text(path.read_text().splitlines()[0] + "\n[1]\n")
    with pytest.raises(cal.FileError, match="line 2 is not a JSON object"):
        cal.read(path)


def test_answers_without_a_confidence_keep_their_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("correct,confidence,question,model\n1,95%,a,x\n,N/A,b,x\n,50%,c,x\n0,40%,d,y\n")
    with pytest.raises(
        cal.InputError, match=r"column 'correct' must not hold missing values; row 2 \(the first is 0\)"
    ):
        files.read_answers(path, percent=True, abstentions="count")
    columns = {"percent": True, "abstentions": "count", "missing": "drop", "groups": "question", "models": "model"}
    found = files.read_answers(path, **columns)
    assert found.probs == pytest.approx([0.95, np.nan, 0.4], nan_ok=True)
    assert (found.groups.tolist(), found.models.tolist()) == (["a", "b", "d"], ["x", "x", "y"])
    assert (found.columns.abstained, found.columns.dropped) == (1, 1)
    with pytest.raises(cal.InputError, match=r"models must name columns of .*'nobody' fits none of"):
        files.read_answers(path, models="nobody")


@pytest.mark.parametrize(
    ("header", "sample", "why"),
    [
        ("[1]", "{}", "the header and the samples of an Inspect log must be JSON objects"),
        ('{"eval": {}}', "[2]", "the header and the samples of an Inspect log must be JSON objects"),
        ('{"eval": {}}', "[" * 100_000 + "]" * 100_000, "its JSON is nested too deeply"),
    ],
)
def test_archives_that_hold_other_json_are_refused(tmp_path, header, sample, why):
    path = tmp_path / "odd.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header)
        archive.writestr("samples/1_epoch_1.json", sample)
    with pytest.raises(cal.FileError, match=why):
        cal.read(path)
