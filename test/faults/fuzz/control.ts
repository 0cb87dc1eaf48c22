import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Two servers that break a promise: one responds with 500 to everything, the other with a header without a meaning. */
const RESPONSES = [
  { status: 500, headers: {} },
  { status: 200, headers: { 'x-undocumented': '1' } },
]

/** How many of the broken servers `isNoticed` does not notice. It gets the port of each. */
export async function countUnnoticed(isNoticed: (port: number) => Promise<boolean>): Promise<number> {
  let unnoticed = 0
  for (const { status, headers } of RESPONSES) {
    const server = createServer((request, response) => {
      request.resume()
      request.once('end', () => response.writeHead(status, headers).end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    if (!(await isNoticed((server.address() as AddressInfo).port))) unnoticed += 1
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return unnoticed
}
