import networkx as nx
import json
import pandas as pd


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
    answers.append(attempt(lambda: nx.node_link_data(D, edges="links")))
    answers.append(attempt(lambda: nx.adjacency_data(D)))
    answers.append(attempt(lambda: list(nx.generate_gml(D))[:6]))
    answers.append(attempt(lambda: list(nx.generate_edgelist(W))))
    answers.append(attempt(lambda: list(nx.generate_adjlist(D))))
    answers.append(attempt(lambda: list(nx.generate_graphml(D))[:6]))
    answers.append(attempt(lambda: nx.to_graph6_bytes(nx.path_graph(4)).decode()))
    answers.append(attempt(lambda: nx.adjacency_matrix(W).toarray()))
    answers.append(attempt(lambda: nx.to_numpy_array(W)))
    answers.append(attempt(lambda: nx.to_pandas_adjacency(W).sum().tolist()))
    answers.append(attempt(lambda: nx.to_pandas_edgelist(W).weight.sum()))
    answers.append(attempt(lambda: sorted(nx.from_pandas_edgelist(pd.DataFrame({"source": [1], "target": [2]})).edges)))
    answers.append(attempt(lambda: nx.laplacian_matrix(D.to_undirected()).toarray()))
    answers.append(attempt(lambda: nx.incidence_matrix(D).toarray()))
    answers.append(attempt(lambda: nx.normalized_laplacian_matrix(D.to_undirected()).toarray()))
    answers.append(attempt(lambda: nx.laplacian_spectrum(D.to_undirected()).round(8)))
    answers.append(attempt(lambda: round(nx.algebraic_connectivity(D.to_undirected()), 6)))
    answers.append(attempt(lambda: nx.to_dict_of_lists(D)))
    answers.append(attempt(lambda: str(G)))
    answers.append(attempt(lambda: repr(nx.to_edgelist(W))))
    answers.append(attempt(lambda: json.dumps(nx.cytoscape_data(D))))
    answers.append(attempt(lambda: nx.parse_edgelist(["1 2", "2 3"]).number_of_edges()))
    answers.append(attempt(lambda: nx.parse_gml(list(nx.generate_gml(D))).number_of_nodes()))
    answers.append(attempt(lambda: {node: position.round(6).tolist() for node, position in nx.circular_layout(D).items()}))
    answers.append(attempt(lambda: {node: position.round(4).tolist() for node, position in nx.spring_layout(D, seed=1).items()}))
    answers.append(attempt(lambda: {node: position.round(6).tolist() for node, position in nx.shell_layout(D).items()}))
    answers.append(attempt(lambda: {node: position.round(6).tolist() for node, position in nx.random_layout(D, seed=1).items()}))
    answers.append(attempt(lambda: {node: list(position) for node, position in nx.bipartite_layout(nx.complete_bipartite_graph(1, 2), [0]).items()}))
    return answers
