import networkx as nx
import random


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    G = nx.karate_club_graph()
    D = nx.DiGraph([(1, 2), (2, 3), (3, 1), (3, 4)])
    W = nx.Graph()
    W.add_weighted_edges_from([("a", "b", 2**33), ("b", "c", 5), ("a", "c", 2**34)])
    groups = lambda found: sorted(sorted(part) for part in found)
    answers.append(attempt(lambda: groups(nx.community.louvain_communities(G, seed=1))))
    answers.append(attempt(lambda: groups(nx.community.greedy_modularity_communities(G))))
    answers.append(attempt(lambda: groups(nx.community.label_propagation_communities(G))))
    answers.append(attempt(lambda: groups(nx.community.asyn_lpa_communities(G, seed=1))))
    answers.append(attempt(lambda: groups(nx.community.kernighan_lin_bisection(G, seed=1))))
    answers.append(attempt(lambda: groups(next(nx.community.girvan_newman(G)))))
    answers.append(attempt(lambda: groups(nx.community.k_clique_communities(G, 3))))
    answers.append(attempt(lambda: groups(nx.community.asyn_fluidc(G, 3, seed=1))))
    answers.append(attempt(lambda: nx.community.modularity(G, nx.community.louvain_communities(G, seed=1))))
    answers.append(attempt(lambda: nx.community.partition_quality(G, nx.community.greedy_modularity_communities(G))))
    answers.append(attempt(lambda: list(nx.jaccard_coefficient(G, [(0, 33), (1, 2)]))))
    answers.append(attempt(lambda: list(nx.adamic_adar_index(G, [(0, 33)]))))
    answers.append(attempt(lambda: nx.simrank_similarity(D)[1][2]))
    answers.append(attempt(lambda: nx.rich_club_coefficient(G, normalized=False)[3]))
    answers.append(attempt(lambda: nx.small_world.sigma(G, niter=1, nrand=1, seed=1) if hasattr(nx, "small_world") else None))
    return answers
