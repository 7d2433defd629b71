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
    T = nx.balanced_tree(2, 3)
    answers.append(attempt(lambda: nx.is_tree(T)))
    answers.append(attempt(lambda: nx.center(T)))
    answers.append(attempt(lambda: nx.to_prufer_sequence(T)))
    answers.append(attempt(lambda: sorted(nx.from_prufer_sequence([3, 3, 3]).edges)))
    answers.append(attempt(lambda: nx.lowest_common_ancestor(nx.bfs_tree(T, 0), 9, 11)))
    answers.append(attempt(lambda: sorted(nx.cartesian_product(nx.path_graph(2), nx.path_graph(2)).edges)))
    answers.append(attempt(lambda: sorted(nx.complement(nx.path_graph(4)).edges)))
    answers.append(attempt(lambda: sorted(nx.line_graph(nx.path_graph(4)).edges)))
    answers.append(attempt(lambda: nx.compose(G, D).number_of_edges()))
    answers.append(attempt(lambda: sorted(nx.ego_graph(G, 11).nodes)))
    answers.append(attempt(lambda: sorted(nx.contracted_nodes(nx.cycle_graph(4), 0, 2).edges)))
    answers.append(attempt(lambda: nx.check_planarity(nx.complete_graph(5))[0]))
    answers.append(attempt(lambda: nx.number_of_spanning_trees(nx.complete_graph(8))))
    answers.append(attempt(lambda: nx.chromatic_polynomial(nx.cycle_graph(4)).as_expr().__str__()))
    answers.append(attempt(lambda: nx.graph_edit_distance(nx.path_graph(3), nx.cycle_graph(3))))
    answers.append(attempt(lambda: nx.kemeny_constant(nx.complete_graph(4))))
    answers.append(attempt(lambda: nx.resistance_distance(nx.cycle_graph(4), 0, 2)))
    answers.append(attempt(lambda: nx.voronoi_cells(G, {0, 33})[0].__len__()))
    answers.append(attempt(lambda: nx.generate_random_paths(G, 2, path_length=3, seed=1).__next__()))
    answers.append(attempt(lambda: nx.trophic_levels(nx.DiGraph([(1, 2), (2, 3)]))))
    answers.append(attempt(lambda: nx.write_network_text(T)))
    return answers
