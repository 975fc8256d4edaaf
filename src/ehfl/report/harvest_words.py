"""What fits to a trace, and a survey of a harvest, come to in sentences."""

from __future__ import annotations

from ehfl.analysis.numbers import amount, percent
from ehfl.energy.fitting import Fits, Model
from ehfl.energy.survey import DAY, Survey
from ehfl.quantities import as_power, as_time
from ehfl.report.harvest_scales import Scale, energy_scale

_NAMES: dict[Model, str] = {"bernoulli": "Bernoulli", "markov": "Markov"}
_CLEAR = 10.0  # of a difference in BIC: "very strong" (Kass and Raftery, "Bayes factors", JASA 90, 1995)
_POOR = 0.2  # of run lengths that miss the measured ones
_BY_CLOCK = 0.1  # of on and off that the time of day explains
_LESS = 0.05  # of the mean, from which on it is worth saying that what was looked at has another one


def fit_verdict(fits: Fits) -> str:
    """Return in a sentence which model to take, and what it lacks."""
    fit, better = fits.together, fits.together.better
    gain = fit.bic("bernoulli") - fit.bic("markov")
    if fit.rate.value in (0, 1):
        return f"Every round is {'on' if fit.rate.value else 'off'}: there is nothing to fit; --unit draws the line."
    first = f"Bernoulli fits as well as Markov (BIC differs by {amount(abs(gain))})"
    if abs(gain) > _CLEAR:
        other, far = ("Bernoulli", "Markov")[better == "bernoulli"], "far " if abs(gain) > 10 * _CLEAR else ""
        first = f"{_NAMES[better]} fits {far}better than {other} (BIC lower by {amount(round(abs(gain)))})"
    lacks = _lacking(fits, better)
    return f"{first}, but {' and '.join(lacks)}." if lacks else f"{first}, and its run lengths are those of the trace."


def _lacking(fits: Fits, model: Model) -> list[str]:
    """Return what a trace has and the model has not, in words."""
    fit, lacks = fits.together, []
    if fit.time_of_day > _BY_CLOCK:  # NaN is not
        lacks.append(f"the time of day sets {percent(fit.time_of_day)} of on and off, which neither knows,")
    if fit.misses(model) > _POOR:
        lacks.append(f"its run lengths miss the measured ones by up to {percent(fit.misses(model))}")
    return [*lacks[:-1], lacks[-1].rstrip(",")] if lacks else []


def survey_sentences(survey: Survey) -> list[str]:
    """Return what a harvest comes to: its mean, its lean times, and what clients differ by."""
    low, high = float(survey.means.min()), float(survey.means.max())
    write, unit = (as_power, "") if survey.in_watts else (amount, " units a round")
    between = write(low) if write(low) == write(high) else f"{write(low)} to {write(high)}"
    verb = "harvest" if survey.clients > 1 else "harvests"
    found = [f"{survey.whom()} {verb} {between}{unit} in the mean over {_looked_at(survey)}."]
    stated, mean = float(survey.stated.mean()), float(survey.means.mean())
    if abs(mean - stated) > _LESS * stated:
        found.append(f"The long-run mean is {write(stated)}{unit}.")
    if len(survey.days) >= 7:
        mean = float(survey.days.mean())
        scale = energy_scale(mean) if survey.in_watts else Scale(1.0, "units")
        lean = (
            f"{scale.text(survey.leanest(1))} on the leanest day, {scale.text(survey.leanest(7))} in the leanest week"
        )
        found.append(f"A day brings {scale.text(mean)} to a client in the mean, {lean}.")
        if longest := survey.longest_without():
            found.append(f"The longest time without any harvest is {as_time(longest)}.")
    return found


def _looked_at(survey: Survey) -> str:
    turns = len(survey.steps)
    if survey.turn != DAY:
        return as_time(survey.turn)
    return "a year" if turns == 365 else f"{turns} day{'' if turns == 1 else 's'}"
