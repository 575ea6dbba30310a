"""Chat completions: the text of an answer and the probability of its tokens."""

from __future__ import annotations

import math
from typing import Any

ROUNDING = 1e-4
"""By which a sum of probabilities may exceed 1, as log-probabilities are rounded."""
WITHIN = ("response", "body", "completion", "output", "result")
"""Fields that hold a completion, one within the other: a batch has `response.body`."""


def completion_of(record: Any, depth: int = 3) -> dict[str, Any] | None:
    """The chat completion in a record: itself, or in one of its fields.

    Parameters
    ----------
    record
        A decoded JSON object.
    depth
        How many levels to look.
    """
    if not isinstance(record, dict) or not depth:
        return None
    choices = record.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict) and "message" in choices[0]:
        return record
    if isinstance(record.get("logprobs"), dict) and isinstance(record["logprobs"].get("content"), list):
        return {"choices": [{"message": {"content": record.get("content")}, "logprobs": record["logprobs"]}]}
    return next((found for name in WITHIN if (found := completion_of(record.get(name), depth - 1))), None)


def is_completion(record: Any) -> bool:
    """Is this a record of a chat completion with log-probabilities?

    Parameters
    ----------
    record
        A decoded JSON object.
    """
    found = completion_of(record)
    return found is not None and isinstance(found["choices"][0].get("logprobs"), dict)


def answer_of(completion: dict[str, Any]) -> tuple[str | None, float | None, str]:
    """The text of the first choice, the probability of its tokens, and what that is in words.

    A single token, such as the letter of an option, counts with all tokens at its place
    that read the same but for spaces; several tokens have the product of their
    probabilities.

    Parameters
    ----------
    completion
        A chat completion with `choices`; without log-probabilities the probability is None.
    """
    choices = completion.get("choices") or [{}]
    choice = choices[0] if isinstance(choices[0], dict) else {}
    tokens = [each for each in (choice.get("logprobs") or {}).get("content") or [] if isinstance(each, dict)]
    message = choice.get("message") or {}
    text = message.get("content") if isinstance(message.get("content"), str) else None
    if text is None and tokens:
        text = "".join(str(each.get("token", "")) for each in tokens)
    answer = None if text is None else text.strip()
    spoken = [each for each in tokens if str(each.get("token", "")).strip()]
    if not spoken:
        return answer, None, ""
    if len(spoken) > 1:
        total = math.fsum(float(each["logprob"]) for each in spoken)
        return answer, min(1.0, math.exp(total)), "product of the probabilities of the answer's tokens"
    own = str(spoken[0]["token"])
    same = {str(each["token"]): float(each["logprob"]) for each in spoken[0].get("top_logprobs") or []}
    same[own] = float(spoken[0]["logprob"])
    total = math.fsum(math.exp(value) for token, value in same.items() if token.strip() == own.strip())
    return answer, min(1.0, total) if total <= 1 + ROUNDING else total, "probability of the answer's token"
