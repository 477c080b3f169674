# Podium's image: its wheel and the locked wheels it needs, in a virtual environment on a slim Python.
# From the checkout: docker build --tag podium:0.1.0 .
# PYTHON_TAG may be any Python from 3.11 on, and end in a digest (3.11-slim-bookworm@sha256:…).
ARG PYTHON_TAG=3.11-slim-bookworm

FROM python:${PYTHON_TAG} AS build
WORKDIR /build
COPY requirements.txt requirements-build.txt ./
# The environment gets no pip of its own: what runs in a cluster installs nothing.
RUN python3 -m venv tools \
    && tools/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-build.txt \
    && python3 -m venv --without-pip /opt/podium \
    && tools/bin/pip --python /opt/podium/bin/python install \
        --no-cache-dir --require-hashes --only-binary :all: -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY scheduler scheduler/
RUN tools/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
    && tools/bin/pip --python /opt/podium/bin/python install --no-cache-dir --no-deps dist/*.whl \
    && tools/bin/pip --python /opt/podium/bin/python check

FROM python:${PYTHON_TAG}
LABEL org.opencontainers.image.title="podium" \
      org.opencontainers.image.description="A Kubernetes scheduler that runs beside the cluster's own" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/podium /opt/podium
ENV PATH=/opt/podium/bin:${PATH}
# A number, for the kubelet can't tell by a name that it is not root.
USER 65532:65532
EXPOSE 10251
ENTRYPOINT ["podium"]
