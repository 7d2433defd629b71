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
    top = lambda ranks: [[node, round(value, 8)] for node, value in sorted(ranks.items(), key=lambda pair: str(pair[0]))[:5]]
    answers.append(attempt(lambda: top(nx.pagerank(G))))
    answers.append(attempt(lambda: top(nx.betweenness_centrality(G))))
    answers.append(attempt(lambda: top(nx.closeness_centrality(G))))
    answers.append(attempt(lambda: top(nx.eigenvector_centrality(G))))
    answers.append(attempt(lambda: top(nx.degree_centrality(G))))
    answers.append(attempt(lambda: top(nx.katz_centrality_numpy(D))))
    answers.append(attempt(lambda: top(nx.hits(D)[0])))
    answers.append(attempt(lambda: top(nx.harmonic_centrality(G))))
    answers.append(attempt(lambda: top(nx.load_centrality(G))))
    answers.append(attempt(lambda: top(nx.current_flow_betweenness_centrality(G))))
    answers.append(attempt(lambda: top(nx.edge_betweenness_centrality(W))))
    answers.append(attempt(lambda: top(nx.betweenness_centrality(G, k=10, seed=1))))
    answers.append(attempt(lambda: top(nx.subgraph_centrality(G))))
    answers.append(attempt(lambda: top(nx.clustering(G))))
    answers.append(attempt(lambda: nx.transitivity(G)))
    answers.append(attempt(lambda: nx.average_clustering(G)))
    answers.append(attempt(lambda: top(nx.core_number(G))))
    answers.append(attempt(lambda: top(nx.triangles(G))))
    answers.append(attempt(lambda: nx.degree_assortativity_coefficient(G)))
    answers.append(attempt(lambda: top(nx.constraint(G))))
    answers.append(attempt(lambda: nx.density(G)))
    answers.append(attempt(lambda: nx.degree_histogram(G)))
    return answers
