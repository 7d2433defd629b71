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
    flow = nx.DiGraph()
    flow.add_edge(1, 2, capacity=3 * 10**10, weight=2)
    flow.add_edge(2, 3, capacity=2 * 10**10, weight=1)
    flow.add_edge(1, 3, capacity=10**9, weight=9)
    answers.append(attempt(lambda: nx.minimum_spanning_tree(W).size("weight")))
    answers.append(attempt(lambda: sorted(nx.maximum_spanning_tree(W).edges(data="weight"))))
    answers.append(attempt(lambda: sorted(nx.minimum_spanning_edges(G, data=False))[:8]))
    answers.append(attempt(lambda: nx.maximum_flow_value(flow, 1, 3)))
    answers.append(attempt(lambda: nx.maximum_flow(flow, 1, 3)[1]))
    answers.append(attempt(lambda: nx.minimum_cut(flow, 1, 3)[0]))
    answers.append(attempt(lambda: nx.min_cost_flow_cost(flow)))
    answers.append(attempt(lambda: nx.max_flow_min_cost(flow, 1, 3)))
    answers.append(attempt(lambda: sorted(map(sorted, nx.max_weight_matching(W)))))
    answers.append(attempt(lambda: sorted(map(sorted, nx.min_weight_matching(W)))))
    answers.append(attempt(lambda: sorted(nx.bipartite.maximum_matching(nx.complete_bipartite_graph(2, 3)).items())))
    answers.append(attempt(lambda: nx.approximation.traveling_salesman_problem(nx.complete_graph(5))))
    answers.append(attempt(lambda: sorted(nx.approximation.min_weighted_vertex_cover(G))[:6]))
    answers.append(attempt(lambda: sorted(nx.approximation.steiner_tree(W, ["a", "c"]).edges)))
    answers.append(attempt(lambda: nx.network_simplex(flow)[0]))
    answers.append(attempt(lambda: sorted(nx.dominating_set(G))[:6]))
    answers.append(attempt(lambda: nx.stoer_wagner(W)[0]))
    return answers
