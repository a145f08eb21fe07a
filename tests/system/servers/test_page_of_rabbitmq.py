"""The commands of docs/mappings.md for RabbitMQ."""

from page import PageTest, commands, part
from rabbitmq import RabbitMq

EXAMPLE = "rabbitmq.json"


class Page(PageTest):
    def test_the_commands_of_the_page_make_a_virtual_host(self):
        configured = commands("sudo apt-get install rabbitmq-server")
        user = part(r"add_user (\S+) ", configured)
        password = part(rf"add_user {user} (\S+)$", configured)
        server = RabbitMq(self.addCleanup, user, password).start()
        self.assertIn(f"set_user_tags {user} administrator", configured)
        self.ports["15672"] = str(server.port)
        self.write_example(EXAMPLE, self.read_example(EXAMPLE))
        code, output = self.run_shell(commands("export RABBITMQ_AUTHORIZATION=") +
                                      commands("build/celld --config config/examples/rabbitmq.json"
                                               " 2>celld.log") + "kill %1\nwait\n")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"(?m)^state +succeeded$")
        self.assertIn('"name":"acme/orders/100 %"', output)
