import networkx as nx


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
    answers.append(attempt(lambda: sorted(nx.gnp_random_graph(10, 0.3, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.gnm_random_graph(10, 8, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.fast_gnp_random_graph(12, 0.2, seed=3).edges)))
    answers.append(attempt(lambda: sorted(nx.barabasi_albert_graph(10, 2, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.watts_strogatz_graph(8, 4, 0.3, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.powerlaw_cluster_graph(10, 2, 0.3, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.random_regular_graph(3, 6, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.random_labeled_tree(8, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.stochastic_block_model([4, 4], [[0.8, 0.1], [0.1, 0.8]], seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.scale_free_graph(8, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.random_geometric_graph(8, 0.4, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.configuration_model([3, 2, 2, 1], seed=1).edges)))
    answers.append(attempt(lambda: nx.grid_2d_graph(3, 3).number_of_edges()))
    answers.append(attempt(lambda: sorted(nx.complete_bipartite_graph(2, 3).edges)))
    answers.append(attempt(lambda: nx.petersen_graph().size()))
    answers.append(attempt(lambda: list(nx.balanced_tree(2, 3).degree)))
    answers.append(attempt(lambda: sorted(nx.double_edge_swap(nx.cycle_graph(8), 3, seed=1).edges)))
    answers.append(attempt(lambda: sorted(nx.gn_graph(8, seed=2).edges)))
    return answers
