import networkx as nx
def main(args):
    g = nx.Graph()
    g.add_weighted_edges_from([("a", "b", 4), ("a", "c", 2), ("c", "b", 1), ("b", "d", 5)])
    return [nx.shortest_path(g, "a", "d", weight="weight"), nx.pagerank(g), sorted(nx.minimum_spanning_tree(g).edges()), nx.betweenness_centrality(g), list(nx.topological_sort(nx.DiGraph([(1, 2), (2, 3)])))]
