# pelton in a container, for three kinds of machine:
#   docker build --target mesa -t pelton .      AMD, Intel
#   docker build --target nvidia -t pelton .    NVIDIA
#   docker build --target none -t pelton .      no GPU
# How to run them: docs/install.md. `docker run ... pelton doctor` names a flag that is missing.
FROM debian:trixie-slim AS build
COPY . /pelton
WORKDIR /pelton
RUN scripts/install-deps --packages
RUN scripts/build build -DPELTON_TESTS=OFF && ninja -C build package

FROM debian:trixie-slim AS none
COPY --from=build /pelton/build/packages /packages
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends mesa-vulkan-drivers \
        /packages/pelton_*.deb /packages/peltond_*.deb \
    && rm -rf /packages /var/lib/apt/lists/* \
    && install -d -o pelton -g pelton /run/pelton
USER pelton
VOLUME /run/pelton
CMD ["peltond", "-c", "/etc/pelton/pelton.yaml", "--socket", "/run/pelton/pelton.sock"]

# Mesa's drivers for AMD and Intel are in the package that has the software device.
FROM none AS mesa

# The driver itself comes from the host, by the NVIDIA container toolkit. It loads these libraries.
FROM none AS nvidia
USER root
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends libegl1 libx11-6 libxext6 \
    && rm -rf /var/lib/apt/lists/*
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility
USER pelton
