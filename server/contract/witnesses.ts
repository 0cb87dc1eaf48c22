import Type, { type Static } from '#typebox'
import type { Registry } from '../../core/index.ts'
import { closed, DateTime, opt } from './values.ts'

/** The witnesses of the log. */
export const WitnessList = closed({
  witnesses: Type.Array(
    closed({
      name: Type.String({ description: 'Its name in the policy' }),
      treeSize: Type.Integer({ minimum: 0, description: 'Entries of the log when it cosigned last; 0 before' }),
      cosignedAt: opt(Type.Unsafe<Date>({ ...DateTime, description: 'When it cosigned last' })),
      alarm: opt(
        Type.Enum(['WITNESS_OTHER_HISTORY', 'WITNESS_AHEAD'], {
          description:
            'It has cosigned another history of this log, and is asked no more; or a larger tree than this log has',
        }),
      ),
    }),
    { description: 'In the order of the policy' },
  ),
})

type Witnesses = Pick<ReturnType<Registry['status']>, 'witnesses'>

/** Leaves out what has not happened. */
export const witnessList = ({ witnesses }: Witnesses): Static<typeof WitnessList> => ({
  witnesses: witnesses.map(({ name, size, cosignedAt, alarm }) => ({
    name,
    treeSize: size,
    ...(cosignedAt !== null && { cosignedAt: new Date(cosignedAt) }),
    ...(alarm !== null && { alarm }),
  })),
})
