import warnings

from lifelines import CoxPHFitter, KaplanMeierFitter, NelsonAalenFitter, WeibullAFTFitter
from lifelines.datasets import load_rossi, load_waltons
from lifelines.statistics import logrank_test, multivariate_logrank_test
from lifelines.utils import concordance_index

warnings.simplefilter("ignore")


def rounded(values):
    return [round(float(value), 5) for value in values]


def main(args):
    flies, people = load_waltons(), load_rossi()
    curve = KaplanMeierFitter().fit(flies["T"], flies["E"], label="all")
    hazard = NelsonAalenFitter().fit(flies["T"], flies["E"])
    model = CoxPHFitter().fit(people, duration_col="week", event_col="arrest")
    short = CoxPHFitter(penalizer=0.1).fit(people, "week", "arrest", formula="age + prio + C(fin)")
    scaled = WeibullAFTFitter().fit(people[["week", "arrest", "age", "prio"]], "week", "arrest")
    old, new = (flies[flies["group"] == name] for name in ("control", "miR-137"))
    pair = logrank_test(old["T"], new["T"], old["E"], new["E"])
    return [
        curve.median_survival_time_, rounded(curve.survival_function_["all"][:5]), list(curve.event_table.iloc[1]),
        rounded(curve.confidence_interval_.iloc[3]), rounded(hazard.cumulative_hazard_.iloc[:4, 0]),
        {name: round(float(value), 4) for name, value in model.params_.items()}, round(model.concordance_index_, 4),
        rounded(model.summary["p"]), rounded(model.predict_partial_hazard(people[:3])), list(short.params_.index),
        rounded(short.params_), [round(float(value), 3) for value in scaled.params_], round(pair.test_statistic, 4),
        round(multivariate_logrank_test(flies["T"], flies["group"], flies["E"]).test_statistic, 4),
        round(concordance_index(people["week"], -people["prio"], people["arrest"]), 5),
        curve.plot_survival_function().get_xlabel(),
    ]
