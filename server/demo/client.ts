import { createClient, type Client } from '../client/index.ts'
import type { Tamper } from './tamper.ts'

export const COMPANY = 'demo'

export interface ConnectOptions {
  readonly baseUrl: string
  readonly apiKey: string
  /** Changes responses, to show that the demo can fail. */
  readonly tamper?: Tamper
}

/** How the demo talks to the service. */
export interface Connection {
  readonly client: Client
  /**
   * Reads a public document. Returns its exact text, because a verifier must see what was sent and not what a parser
   * made of it. Throws if the response is not a success.
   */
  readonly readPublic: (path: string) => Promise<string>
}

export function connect({ baseUrl, apiKey, tamper }: ConnectOptions): Connection {
  const request = async (url: string, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init)
    return tamper === undefined ? response : tamper.change(url, response)
  }
  return {
    client: createClient({ baseUrl, apiKey, companyId: COMPANY, fetch: request }),
    readPublic: async (path) => {
      const response = await request(baseUrl + path)
      const text = await response.text()
      if (!response.ok) throw new Error(`GET ${path} returned ${response.status}: ${text.slice(0, 300)}`)
      return text
    },
  }
}
