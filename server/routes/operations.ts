import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import type { Health } from '../http/health.ts'
import type { Metrics } from '../http/metrics.ts'
import { OpenApi, OpenApiQuery, Readiness } from '../contract/operations.ts'
import { bytes, json } from '../contract/reply.ts'
import { ok, Ok } from '../contract/values.ts'

const NOT_STORED = { cache: 'no-store' } as const

/** For the operator of the service. At the root, outside the base path. */
export function operations({ health, metrics }: { readonly health: Health; readonly metrics: Metrics }): EndpointGroup {
  return {
    tag: 'Operations',
    description: 'For the operator of the service',
    endpoints: [
      endpoint({
        id: 'livez',
        method: 'GET',
        path: '/livez',
        access: 'public',
        summary: 'Whether the process responds',
        description: 'A process that responds is alive: restart it only if it does not.',
        response: { schema: Ok },
        handle: async () => json(ok, NOT_STORED),
      }),
      endpoint({
        id: 'readyz',
        method: 'GET',
        path: '/readyz',
        access: 'public',
        summary: 'Whether a load balancer should send requests to it',
        description: '`reason` is an error code, `stopping`, or why writes are refused.',
        response: {
          schema: Readiness,
          others: {
            503:
              'It stops; or writes are refused because of the store, the clock or a missing signed head; or the ' +
              'volume of the files is lost; or sealing fails for a reason that does not pass. A read-only ' +
              'server is 200',
          },
        },
        async handle() {
          const readiness = health.readiness()
          return json(readiness, { status: readiness.status === 'ok' ? 200 : 503, ...NOT_STORED })
        },
      }),
      endpoint({
        id: 'metrics',
        method: 'GET',
        path: '/metrics',
        access: 'public',
        summary: 'Metrics for Prometheus',
        description: 'Needs the token of the metrics: `Authorization: Bearer`. It opens nothing else.',
        response: { media: 'text/plain', description: 'The text exposition format' },
        errors: ['UNAUTHORIZED'],
        handle: async () => bytes(metrics.contentType, await metrics.text(), NOT_STORED),
      }),
    ],
  }
}

/** The document that describes the service. `text`: its JSON, the same bytes for all responses. */
export const description = (text: (json: boolean) => Uint8Array): EndpointGroup => ({
  tag: 'Description',
  description: 'This document',
  endpoints: [
    endpoint({
      id: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      access: 'public',
      summary: 'The OpenAPI 3.1 document of this service',
      description:
        'Made of the same schemas that requests are validated with. An endpoint that accepts a form has the form ' +
        'alone, because JSON carries no files; `json=1` adds the JSON bodies.',
      query: OpenApiQuery,
      response: { schema: OpenApi },
      handle: async ({ query }) => bytes('application/json; charset=utf-8', text(query.json === true)),
    }),
  ],
})
