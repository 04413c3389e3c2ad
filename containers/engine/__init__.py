"""The engine that builds and runs images, through the API of Docker, which Podman speaks as well."""
