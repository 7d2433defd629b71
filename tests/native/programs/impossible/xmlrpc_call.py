# refused: OSError|gaierror: network
import xmlrpc.client

print(xmlrpc.client.ServerProxy("http://x.org/").system.listMethods())
