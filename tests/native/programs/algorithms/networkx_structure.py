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
    answers.append(attempt(lambda: [sorted(part) for part in nx.connected_components(nx.Graph([(1, 2), (3, 4)]))]))
    answers.append(attempt(lambda: [sorted(part) for part in nx.strongly_connected_components(D)]))
    answers.append(attempt(lambda: list(nx.topological_sort(nx.DiGraph([(1, 2), (1, 3), (3, 2)])))))
    answers.append(attempt(lambda: list(nx.topological_sort(D))))
    answers.append(attempt(lambda: list(nx.find_cycle(D))))
    answers.append(attempt(lambda: sorted(map(sorted, nx.simple_cycles(D)))))
    answers.append(attempt(lambda: nx.is_bipartite(D.to_undirected())))
    answers.append(attempt(lambda: nx.greedy_color(D.to_undirected())))
    answers.append(attempt(lambda: list(nx.bfs_tree(G, 0))[:8]))
    answers.append(attempt(lambda: list(nx.dfs_preorder_nodes(G, 0))[:10]))
    answers.append(attempt(lambda: list(nx.bfs_layers(D, [1]))))
    answers.append(attempt(lambda: list(nx.articulation_points(G))))
    answers.append(attempt(lambda: list(nx.bridges(nx.path_graph(4)))))
    answers.append(attempt(lambda: nx.node_connectivity(G)))
    answers.append(attempt(lambda: nx.k_core(G, 4).number_of_nodes()))
    answers.append(attempt(lambda: sorted(map(sorted, nx.find_cliques(D.to_undirected())))))
    answers.append(attempt(lambda: list(nx.eulerian_circuit(nx.cycle_graph(4)))))
    answers.append(attempt(lambda: nx.is_isomorphic(nx.path_graph(3), nx.star_graph(2))))
    answers.append(attempt(lambda: sorted(nx.maximal_independent_set(G, seed=1))))
    answers.append(attempt(lambda: [sorted(part) for part in nx.biconnected_components(nx.barbell_graph(3, 1))]))
    answers.append(attempt(lambda: nx.could_be_isomorphic(G, G)))
    answers.append(attempt(lambda: nx.condensation(D).number_of_nodes()))
    answers.append(attempt(lambda: nx.transitive_closure(D).number_of_edges()))
    answers.append(attempt(lambda: nx.immediate_dominators(D, 1)))
    answers.append(attempt(lambda: nx.weisfeiler_lehman_graph_hash(G)))
    return answers
