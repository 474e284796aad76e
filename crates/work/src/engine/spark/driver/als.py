def run(request, cluster, progress):
    raise NotImplementedError
