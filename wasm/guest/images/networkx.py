"""Graphs: networkx with its common algorithms."""

import networkx


def use_networkx():
    """Runs a few algorithms on a small graph."""
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2), ("a", "c", 5)])
    networkx.shortest_path(graph, "a", "c", weight="weight")
    networkx.minimum_spanning_tree(graph)
    networkx.pagerank(graph)
    networkx.betweenness_centrality(graph)
    list(networkx.connected_components(graph))
    list(networkx.community.greedy_modularity_communities(graph))
    networkx.spring_layout(graph, seed=1)
    list(networkx.topological_sort(networkx.DiGraph([(1, 2), (2, 3)])))
    networkx.node_link_data(graph)


use_networkx()
