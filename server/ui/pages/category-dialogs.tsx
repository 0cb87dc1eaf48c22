import { useState } from 'preact/hooks'
import { Dialog } from '../components/dialog.tsx'
import { FileField, Form, TextField, useForm } from '../components/form.tsx'
import { withoutEmpty } from '../format.ts'
import { useSession, type Session } from '../session.ts'
import { texts } from '../texts.ts'

/** A category, or a subcategory if `subcategoryId` is set. */
export interface CategoryNode {
  readonly categoryId: string
  readonly subcategoryId?: string
  readonly name: string
  readonly description?: string
  readonly status: 'active' | 'inactive' | 'removed'
  readonly digitalTwinsCount: number
  readonly imageId?: string
}

/** What the user does. `create` with a `categoryId` creates a subcategory. */
export type CategoryAction =
  | { readonly type: 'create'; readonly categoryId?: string }
  | { readonly type: 'edit'; readonly node: CategoryNode }
  | { readonly type: 'activate' | 'deactivate' | 'remove'; readonly node: CategoryNode }

interface CategoryDialogProps {
  readonly action: CategoryAction
  /** `hasChanged`: the tree must be read again. */
  readonly onClose: (hasChanged: boolean) => void
}

type Change = Omit<Parameters<Session['client']['updateCategory']>[0], 'categoryId' | 'companyId'>

/** Both levels are changed by the same fields. */
async function updateNode(
  { client }: Session,
  { categoryId, subcategoryId }: CategoryNode,
  change: Change,
): Promise<void> {
  if (subcategoryId === undefined) await client.updateCategory({ categoryId, ...change })
  else await client.updateSubcategory({ categoryId, subcategoryId, ...change })
}

export function CategoryDialog({ action, onClose }: CategoryDialogProps) {
  if (action.type === 'create' || action.type === 'edit') return <DetailsDialog action={action} onClose={onClose} />
  return <ActionDialog type={action.type} node={action.node} onClose={onClose} />
}

interface DetailsDialogProps {
  readonly action: Extract<CategoryAction, { type: 'create' | 'edit' }>
  readonly onClose: CategoryDialogProps['onClose']
}

/** Name, description and image of a new or an existing category. */
function DetailsDialog({ action, onClose }: DetailsDialogProps) {
  const t = texts.categories
  const session = useSession()
  const form = useForm(['name', 'description', 'image', 'file'])
  const node = action.type === 'create' ? undefined : action.node
  const [name, setName] = useState(node?.name ?? '')
  const [description, setDescription] = useState(node?.description ?? '')
  const [image, setImage] = useState<File>()
  const save = async (): Promise<void> => {
    if (action.type === 'create') await create(action.categoryId)
    else await change(action.node)
    onClose(true)
  }
  const create = async (categoryId: string | undefined): Promise<void> => {
    const fields = { name, ...withoutEmpty({ description }), ...(image && { image }) }
    if (categoryId === undefined) await session.client.createCategory(fields)
    else await session.client.createSubcategory({ categoryId, ...fields })
  }
  const change = (existing: CategoryNode): Promise<void> =>
    updateNode(session, existing, {
      ...(name !== existing.name && { name }),
      ...withoutEmpty({ description }),
      ...(description === '' && existing.description && { clear: ['description'] as const }),
      ...(image && { file: image }),
    })
  const createTitle = action.type === 'create' && action.categoryId !== undefined ? t.createSub : t.create
  return (
    <Dialog title={node ? t.editTitle(node.name) : createTitle} onClose={() => onClose(false)}>
      <Form form={form} action={save} submitText={texts.save} onCancel={() => onClose(false)}>
        <TextField label={t.name} value={name} onChange={setName} problem={form.problemOf('name')} />
        <TextField
          label={t.description}
          rows={3}
          value={description}
          onChange={setDescription}
          problem={form.problemOf('description')}
        />
        <FileField
          label={t.image}
          accept="image/*"
          onChange={([file]) => setImage(file)}
          problem={form.problemOf('image') ?? form.problemOf('file')}
        />
      </Form>
    </Dialog>
  )
}

const ACTIONS = { activate: 'ACTIVATE', deactivate: 'DEACTIVATE', remove: 'REMOVE' } as const

interface ActionDialogProps {
  readonly type: keyof typeof ACTIONS
  readonly node: CategoryNode
  readonly onClose: CategoryDialogProps['onClose']
}

function ActionDialog({ type, node, onClose }: ActionDialogProps) {
  const t = texts.categories
  const session = useSession()
  const form = useForm([])
  const run = async (): Promise<void> => {
    await updateNode(session, node, { action: ACTIONS[type] })
    onClose(true)
  }
  return (
    <Dialog
      title={type === 'remove' ? t.removeTitle(node.name) : `${t[type]}: ${node.name}`}
      onClose={() => onClose(false)}
    >
      {type === 'remove' && <p>{t.removeIntro}</p>}
      <Form form={form} action={run} submitText={t[type]} onCancel={() => onClose(false)} />
    </Dialog>
  )
}
