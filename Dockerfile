# Liaison in a container: all commands, and nothing to compile when it is run.
#
#   docker build -t liaison .
#   docker run --rm -i liaison links --languages en-fr < pairs.tsv > links.txt
#   docker run --rm -v "$PWD:/data" liaison run --config my.toml
#
# On another processor than the builder's, too: machine code is made for any of its kind. A folder for models that
# are fetched (liaison models get): -v models:/models -e LIAISON_MODELS=/models.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS built
WORKDIR /project
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY align align
COPY pipeline pipeline
COPY models models
COPY data/sample data/sample
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim
ENV NUMBA_CPU_NAME=generic XDG_CACHE_HOME=/var/cache/liaison
RUN --mount=type=bind,from=built,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl \
    && useradd --create-home --uid 1000 liaison \
    && install --directory --owner=1000 /var/cache/liaison /data
USER 1000
WORKDIR /data
# The sample compiles all that a run needs. Any user of the container may add to what was kept (docker run --user).
RUN liaison run --quiet --workdir /tmp/sample \
    && rm -r /tmp/sample \
    && chmod -R a+rwX /var/cache/liaison
ENTRYPOINT ["liaison"]
CMD ["--help"]
