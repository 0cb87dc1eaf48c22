import { useState } from 'preact/hooks'
import { FormDialog, type OnClose } from '../components/dialog.tsx'
import { FileField, TextField, useForm } from '../components/form.tsx'
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

interface CategoryDialogProps<A extends CategoryAction = CategoryAction> {
  readonly action: A
  readonly onClose: OnClose
}

type Change = Omit<Parameters<Session['client']['updateCategory']>[0], 'categoryId' | 'companyId'>

/** Both levels are changed by the same fields. */
const updateNode = (
  { client }: Session,
  { categoryId, subcategoryId }: CategoryNode,
  change: Change,
): Promise<unknown> =>
  subcategoryId === undefined
    ? client.updateCategory({ categoryId, ...change })
    : client.updateSubcategory({ categoryId, subcategoryId, ...change })

/** The dialog of an action. */
export function CategoryDialog({ action, onClose }: CategoryDialogProps) {
  if (action.type === 'create' || action.type === 'edit') return <DetailsDialog action={action} onClose={onClose} />
  return <ActionDialog action={action} onClose={onClose} />
}

/** Name, description and image of a new or an existing category. */
function DetailsDialog({ action, onClose }: CategoryDialogProps<Extract<CategoryAction, { type: 'create' | 'edit' }>>) {
  const t = texts.categories
  const session = useSession()
  const node = action.type === 'create' ? undefined : action.node
  const form = useForm({ name: node?.name ?? '', description: node?.description ?? '' }, ['image', 'file'])
  const { name, description } = form.values
  const [image, setImage] = useState<File>()
  const create = (categoryId: string | undefined): Promise<unknown> => {
    const fields = { name, ...withoutEmpty({ description }), ...(image && { image }) }
    if (categoryId === undefined) return session.client.createCategory(fields)
    return session.client.createSubcategory({ categoryId, ...fields })
  }
  const change = (existing: CategoryNode): Promise<unknown> =>
    updateNode(session, existing, {
      ...(name !== existing.name && { name }),
      ...withoutEmpty({ description }),
      ...(description === '' && existing.description && { clear: ['description'] as const }),
      ...(image && { file: image }),
    })
  const createTitle = action.type === 'create' && action.categoryId !== undefined ? t.createSub : t.create
  return (
    <FormDialog
      title={node ? t.editTitle(node.name) : createTitle}
      form={form}
      action={() => (action.type === 'create' ? create(action.categoryId) : change(action.node))}
      onClose={onClose}
    >
      <TextField label={t.name} isRequired {...form.props('name')} />
      <TextField label={t.description} rows={3} {...form.props('description')} />
      <FileField
        label={t.image}
        accept="image/*"
        onChange={([file]) => setImage(file)}
        problem={form.problemOf('image') ?? form.problemOf('file')}
      />
    </FormDialog>
  )
}

const ACTIONS = { activate: 'ACTIVATE', deactivate: 'DEACTIVATE', remove: 'REMOVE' } as const

type NodeAction = Extract<CategoryAction, { type: keyof typeof ACTIONS }>

/** Asks before a category is activated, deactivated or removed. */
function ActionDialog({ action: { type, node }, onClose }: CategoryDialogProps<NodeAction>) {
  const t = texts.categories
  const session = useSession()
  return (
    <FormDialog
      title={type === 'remove' ? t.removeTitle(node.name) : `${t[type]}: ${node.name}`}
      intro={type === 'remove' && t.removeIntro}
      form={useForm({})}
      action={() => updateNode(session, node, { action: ACTIONS[type] })}
      submitText={t[type]}
      onClose={onClose}
    />
  )
}
