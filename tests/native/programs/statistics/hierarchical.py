from scipy.cluster.hierarchy import linkage, fcluster
def main(args):
    z = linkage([[0.], [.1], [5.], [5.2], [9.]], "average")
    return [z.tolist(), fcluster(z, 2, "maxclust").tolist()]
