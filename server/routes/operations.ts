import Type from 'typebox'
import { closed } from '../../core/registry/schemas.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import type { Health } from '../http/health.ts'
import type { Metrics } from '../http/metrics.ts'
import { Ok } from '../contract/shapes.ts'

export const Readiness = closed({ status: Type.Enum(['ok', 'unavailable']), reason: Type.Optional(Type.String()) })

/** What whoever runs the service asks it; at the root, outside the base path. */
export function operations({ health, metrics }: { readonly health: Health; readonly metrics: Metrics }): EndpointGroup {
  return {
    tag: 'Operations',
    description: 'For whoever runs the service',
    endpoints: [
      endpoint({
        id: 'livez',
        method: 'GET',
        path: '/livez',
        access: 'public',
        summary: 'Whether the process answers',
        answer: { schema: Ok },
        handle: async () => ({ status: 'ok' }),
      }),
      endpoint({
        id: 'readyz',
        method: 'GET',
        path: '/readyz',
        access: 'public',
        summary: 'Whether it should be sent requests',
        answer: { schema: Readiness, others: { 503: 'Stopping, or it takes no writes until it is restarted' } },
        async handle({ ctx }) {
          const reason = health.problem()
          if (reason === undefined) return { status: 'ok' }
          ctx.status = 503
          return { status: 'unavailable', reason }
        },
      }),
      endpoint({
        id: 'metrics',
        method: 'GET',
        path: '/metrics',
        access: 'public',
        summary: 'Metrics for Prometheus',
        answer: { media: 'text/plain', description: 'The text exposition format' },
        async handle({ ctx }) {
          ctx.set('Content-Type', metrics.contentType)
          ctx.body = await metrics.text()
        },
      }),
    ],
  }
}

/** The document that describes all of it. `document` is made when it is first asked for. */
export const description = (document: () => object): EndpointGroup => ({
  tag: 'Description',
  description: 'This document',
  endpoints: [
    endpoint({
      id: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      access: 'public',
      summary: 'The OpenAPI 3.1 document of this service',
      answer: { schema: Type.Object({ openapi: Type.String() }) },
      handle: async () => document(),
    }),
  ],
})
