import Type from '#typebox'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { json } from '../contract/reply.ts'
import { closed, DateTime, opt } from '../contract/values.ts'

const PublicStatus = closed({
  state: Type.Enum(['active', 'stolen', 'unknown'], {
    description: '`unknown`: the company has no such evidence, or does not say. Do not take it for not stolen',
  }),
  since: opt(DateTime),
})

/** Whether a thing is reported stolen, for anyone who knows its id. */
export const publicStatus: EndpointGroup = {
  tag: 'Status',
  description: 'Whether a thing is reported stolen, without a key',
  endpoints: [
    endpoint({
      id: 'getPublicStatus',
      method: 'GET',
      path: '/status/{COMPANY_ID}/{EVIDENCE_EXTERNAL_ID}',
      access: 'rationed',
      summary: 'Whether an evidence is reported stolen',
      description:
        'For evidences of a category with `publicStatus`; all others are `unknown`, and so are ids that do not ' +
        'exist. It is the word of the registry, without a proof. An address has 30 requests a minute, and a company ' +
        'is asked 3,000 times an hour.',
      response: { schema: PublicStatus },
      handle: async ({ registry, param }) =>
        json(
          await registry.evidences.publicStatus({
            companyId: param('COMPANY_ID'),
            externalId: param('EVIDENCE_EXTERNAL_ID'),
          }),
        ),
    }),
  ],
}
