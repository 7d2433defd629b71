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
    answers.append(attempt(lambda: nx.shortest_path(G, 0, 33)))
    answers.append(attempt(lambda: nx.shortest_path_length(G, 0, 33)))
    answers.append(attempt(lambda: nx.dijkstra_path_length(W, "a", "c")))
    answers.append(attempt(lambda: nx.dijkstra_path(W, "a", "c")))
    answers.append(attempt(lambda: nx.bellman_ford_path(W, "a", "c")))
    answers.append(attempt(lambda: nx.astar_path(W, "a", "c")))
    answers.append(attempt(lambda: nx.floyd_warshall(D)[1][4]))
    answers.append(attempt(lambda: dict(nx.all_pairs_dijkstra_path_length(W))))
    answers.append(attempt(lambda: list(nx.all_simple_paths(D, 1, 4))))
    answers.append(attempt(lambda: list(nx.all_shortest_paths(G, 16, 26))))
    answers.append(attempt(lambda: nx.average_shortest_path_length(G)))
    answers.append(attempt(lambda: nx.diameter(G)))
    answers.append(attempt(lambda: nx.eccentricity(D.to_undirected())))
    answers.append(attempt(lambda: nx.wiener_index(D.to_undirected())))
    answers.append(attempt(lambda: nx.single_source_shortest_path_length(D, 1)))
    answers.append(attempt(lambda: nx.johnson(W)["a"]["c"]))
    answers.append(attempt(lambda: list(nx.shortest_simple_paths(W, "a", "c", "weight"))))
    answers.append(attempt(lambda: nx.floyd_warshall_numpy(W)))
    answers.append(attempt(lambda: nx.shortest_path(D, 4, 1)))
    answers.append(attempt(lambda: nx.dag_longest_path(nx.DiGraph([(1, 2), (2, 3), (1, 3)]))))
    return answers
