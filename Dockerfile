# The program needs cgo: PostgreSQL's own parser is compiled in.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=1 go build -trimpath -ldflags=-s -o /pgidproxy ./cmd/pgidproxy

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home pgidproxy
COPY --from=build /pgidproxy /usr/local/bin/pgidproxy
USER 10001
ENV PGIDPROXY_LISTEN=0.0.0.0:6432
EXPOSE 6432
ENTRYPOINT ["pgidproxy"]
CMD ["serve"]
