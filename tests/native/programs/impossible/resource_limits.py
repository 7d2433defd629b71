# refused: ModuleNotFoundError|ImportError|OSError: limits
import resource

resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
