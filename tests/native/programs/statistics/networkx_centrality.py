import networkx as nx


def main(args):
    g = nx.karate_club_graph()
    h = nx.gnp_random_graph(30, 0.15, seed=4)
    d = nx.DiGraph([("a", "b", {"w": 3}), ("b", "c", {"w": 10**11}), ("a", "c", {"w": 10**12})])
    return {"deg": sorted(dict(g.degree).values())[-3:], "bet": round(nx.betweenness_centrality(g)[0], 9), "pr": round(nx.pagerank(g)[33], 9), "comp": nx.number_connected_components(h), "path": nx.dijkstra_path(d, "a", "c", "w"), "len": nx.dijkstra_path_length(d, "a", "c", "w"),
            "mst": nx.minimum_spanning_tree(g).number_of_edges(), "comm": [len(c) for c in nx.community.greedy_modularity_communities(g)], "tri": sum(nx.triangles(g).values()) // 3, "adj": int(nx.to_numpy_array(d, weight="w", dtype=int).sum()), "topo": list(nx.topological_sort(d)),
            "edges": sorted(h.edges)[:5], "flow": nx.maximum_flow_value(d, "a", "c", capacity="w"), "clust": nx.average_clustering(g), "dia": nx.diameter(g), "core": max(nx.core_number(g).values()), "lap": nx.laplacian_matrix(g).sum().item(), "ba": sorted(nx.barabasi_albert_graph(20, 2, seed=7).edges)[:5]}
