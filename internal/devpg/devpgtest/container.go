package devpgtest

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// containerMajor is the version of the container's server.
const containerMajor = 18

// startContainer starts a server in a container. It fails at once where no
// Docker engine answers. The library's own reaper removes the container after
// the process.
func startContainer(ctx context.Context) (s *devpg.Server, err error) {
	// The library panics where it finds no engine to talk to.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("start a container: %v", r)
		}
	}()
	command := []string{"postgres"}
	for name, value := range Settings() {
		command = append(command, "-c", name+"="+value)
	}
	const port = "5432/tcp"
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		Started: true,
		ContainerRequest: testcontainers.ContainerRequest{
			Image:        fmt.Sprintf("postgres:%d", containerMajor),
			ExposedPorts: []string{port},
			Env:          map[string]string{"POSTGRES_HOST_AUTH_METHOD": "trust"},
			Cmd:          command,
			// The entry point starts the server twice.
			WaitingFor: wait.ForLog("database system is ready to accept connections").WithOccurrence(2).WithStartupTimeout(time.Minute),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start a container: %w", err)
	}
	endpoint, err := c.PortEndpoint(ctx, port, "")
	if err != nil {
		return nil, fmt.Errorf("start a container: %w", err)
	}
	return devpg.External(containerMajor, func(db string) string {
		u := url.URL{Scheme: "postgres", User: url.User(devpg.Superuser), Host: endpoint, Path: "/" + db, RawQuery: "sslmode=disable"}
		return u.String()
	}), nil
}
