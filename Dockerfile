# pelton in a container, for three kinds of machine:
#   docker build --target mesa -t pelton .      AMD, Intel
#   docker build --target nvidia -t pelton .    NVIDIA
#   docker build --target none -t pelton .      no GPU
# How to run them: docs/install.md. `docker run ... pelton doctor` names a flag that is missing.
FROM debian:trixie-slim AS build
WORKDIR /pelton
COPY scripts/install-deps scripts/install-deps
RUN scripts/install-deps --packages
COPY . .
RUN scripts/build build -DPELTON_TESTS=OFF && ninja -C build package

FROM debian:trixie-slim AS base
COPY --from=build /pelton/build/packages /packages
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends \
        /packages/pelton_*.deb /packages/peltond_*.deb /packages/pelton-web_*.deb \
    && rm -rf /packages /var/lib/apt/lists/* /var/cache/apt/* \
    && install -d -o pelton -g pelton -m 0775 /run/pelton /var/cache/pelton
ENV XDG_CACHE_HOME=/var/cache/pelton
USER pelton
VOLUME /run/pelton
CMD ["peltond", "-c", "/etc/pelton/pelton.yaml", "--socket", "/run/pelton/pelton.sock"]

FROM base AS mesa
USER root
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends mesa-vulkan-drivers \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
USER pelton

# Mesa's package has the software device, too.
FROM mesa AS none

# The driver itself comes from the host, by the NVIDIA container toolkit. It loads these libraries.
FROM base AS nvidia
USER root
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends libegl1 libx11-6 libxext6 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility
USER pelton
