/* Rows of nn-train's own options: the net, its recipe, the rows that judge it. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/augment/augment.h"
#include "data/picture/samples.h"
#include "model/weights.h"
#include "predict/loss.h"
#include "step/optimizer.h"
#include "step/schedule.h"
#include "train/options.h"

static int check_schedule(const char *value, struct nn_error *err)
{
	struct nn_schedule schedule;

	return nn_schedule_parse(&schedule, value, err);
}

static int check_shuffle(const char *value, struct nn_error *err)
{
	uint64_t window;

	return nn_parse_shuffle(value, &window, err);
}

static int check_weights(const char *value, struct nn_error *err)
{
	return strcmp(value, "balanced") == 0 || nn_parse_weights(value, NULL, err) >= 0 ? 0 : -1;
}

static int check_valid(const char *value, struct nn_error *err)
{
	double fraction;

	return nn_parse_fraction(value, &fraction, err);
}

static bool valid_is_file(const char *value)
{
	double fraction;

	return !nn_parse_f64(value, strlen(value), &fraction);
}

/* FILE[,TARGETS], and the samples of folders. */
static int valid_each_file(const char *value, int (*visit)(void *arg, const char *path), void *arg)
{
	const char *comma = strchr(value, ',');
	char *file = comma ? nn_strndup(value, (size_t)(comma - value), NULL) : NULL;
	int status = nn_samples_each_file(value, visit, arg);

	if (status == 0 && file && (status = visit(arg, file)) == 0)
		status = nn_samples_each_file(file, visit, arg);
	if (status == 0 && file && (status = visit(arg, comma + 1)) == 0)
		status = nn_samples_each_file(comma + 1, visit, arg);
	nn_free(file);
	return status;
}

#define MOST 1e15 /* whole numbers stay exact in f64, where bounds are compared */
#define AT(field) offsetof(struct nn_train_options, field)

static const char optimizers[] =
#define NN_OPTIMIZER(ID, id, ...) ", " #id
#include "device/optimizers.def"
	;

const struct nn_opt nn_train_opts[] = {
	{ .name = "model",
	  .daily = "the network: a file, its text, or a trained model",
	  .also = "net,network,arch,architecture,hidden,hidden-layers,hidden-layer-sizes,layers,"
		  "dropout,activation",
	  .letter = 'm',
	  .type = NN_OPT_STRING,
	  .offset = AT(model),
	  .arg = "MODEL",
	  .file = NN_OPT_READS,
	  .help = "the network: a file in the model language, the same text, or a model file to "
		  "start from",
	  .man = "An existing file wins, then an installed example (lenet.nn); else text "
		 "containing a space, or the name of a layer, is text. "
		 "See nn-model(5) and nn-layers(7)." },
	{ .name = "init",
	  .also = "pretrained,weights,init-weights,load,checkpoint-in,finetune",
	  .type = NN_OPT_STRING,
	  .filled = true,
	  .offset = AT(init),
	  .arg = "WEIGHTS",
	  .file = NN_OPT_READS,
	  .each_file = nn_weights_each_file,
	  .help = "start from weights made elsewhere, or from another model's",
	  .man = "What WEIGHTS may be, and which tensor is which parameter, says nn-predict(1) "
		 "under WEIGHTS MADE ELSEWHERE. Tensors alone are taken: how columns are scaled "
		 "follows from DATA, and eps from the text. See FINE-TUNING." },
	{ .name = "init-partial",
	  .also = "strict,ignore-mismatched-sizes",
	  .type = NN_OPT_FLAG,
	  .offset = AT(init_partial),
	  .help = "leave what --init lacks, or has of another shape, as initialized",
	  .man = "Tensors then go by name alone; the parameters that are left are named." },
	{ .name = "freeze",
	  .also = "freeze-layers,frozen,trainable",
	  .type = NN_OPT_STRING,
	  .filled = true,
	  .offset = AT(freeze),
	  .arg = "LAYER,...",
	  .help = "keep these layers as they are",
	  .man = "A LAYER is named as its tensors are: its name, or its number in the text. "
		 "Optimizer and weight decay leave it alone; a batchnorm computes as in prediction "
		 "and its running values stay. With --tensor every rank has frozen layers whole. "
		 "See "
		 "FINE-TUNING." },
	{ .name = "fold-batchnorm",
	  .also = "fold,fuse,fold-bn",
	  .type = NN_OPT_FLAG,
	  .offset = AT(fold_batchnorm),
	  .help = "put batchnorm into the layer before it, in a finished model",
	  .man = "With -m MODEL --steps=0 and no DATA: a dense layer or convolution whose output "
		 "goes to a batchnorm alone, which is the next line, gets the weights and bias "
		 "that do the same. See SMALLER FILES in nn-model(5)." },
	{ .name = "layout",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(layout),
	  .arg = "torch|keras",
	  .fallback = "auto",
	  .choices = nn_weights_layouts,
	  .help = "how the weights of --init lie: [out,in] or [in,out]" },
	{ .name = "loss",
	  .also = "criterion,objective",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(recipe.loss),
	  .arg = "LOSS",
	  .fallback = "auto",
	  .choices = nn_loss_choices,
	  .help = "loss to minimize: auto, cross-entropy, mse, bce, huber, mae",
	  .man = "auto is cross-entropy for class targets and mse for numbers. cross-entropy takes "
		 "the softmax of the "
		 "outputs, bce their sigmoid and targets in 0..1; huber has delta 1." },
	{ .name = "optimizer",
	  .also = "opt,optim,solver,trainer",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(recipe.optimizer),
	  .arg = "NAME",
	  .fallback = "adam",
	  .choices = nn_optimizer_names,
	  .help = &optimizers[2],
	  .man = "As PyTorch 2 defines them, constants included; lars and lamb as their papers "
		 "do, but that the rate of lars stands outside the momentum, as that of sgd. "
#define NN_OPTIMIZER(ID, id, lr, weight_decay, eps, slots, ratio, flags, doc, ...) doc
#include "device/optimizers.def"
	},
	{ .name = "lr",
	  .daily = "learning rate (0.001 with adam)",
	  .also = "learning-rate,learning-rate-init,eta,alpha,step-size",
	  .type = NN_OPT_REAL,
	  .offset = AT(recipe.lr),
	  .arg = "RATE",
	  .min = 0,
	  .max = 1e30,
	  .help = "learning rate: "
#define NN_OPTIMIZER(ID, id, lr, ...) #id " " #lr ", "
#include "device/optimizers.def"
		  "unless given" },
	{ .name = "momentum",
	  .type = NN_OPT_REAL,
	  .offset = AT(recipe.momentum),
	  .arg = "M",
	  .fallback = "0",
	  .min = 0,
	  .max = 1,
	  .help = "momentum, for optimizers that have one" },
	{ .name = "nesterov",
	  .type = NN_OPT_FLAG,
	  .offset = AT(recipe.nesterov),
	  .help = "Nesterov's form of the momentum" },
	{ .name = "schedule",
	  .also = "scheduler,lr-schedule,lr-scheduler",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(recipe.schedule),
	  .arg = "SCHEDULE",
	  .fallback = "constant",
	  .choices =
		  (const char *const[]){ "constant", "cosine", "step", "linear", "plateau", NULL },
	  .check = check_schedule,
	  .help = "learning rate over time: constant, cosine, step[:N:F], linear, plateau",
	  .man = "step is times 0.1 after each third of the training, step:N:F times F every N "
		 "steps. plateau is times 0.1 after 5 evaluations without a better --metric. "
		 "cosine, "
		 "step and linear need --epochs or --steps: the length they are planned for." },
	{ .name = "warmup",
	  .also = "warmup-steps",
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.warmup),
	  .arg = "STEPS",
	  .fallback = "0",
	  .max = MOST,
	  .help = "steps over which the rate rises from near 0" },
	{ .name = "weight-decay",
	  .also = "wd,l2,decay",
	  .type = NN_OPT_REAL,
	  .offset = AT(recipe.weight_decay),
	  .arg = "D",
	  .min = 0,
	  .max = 1e30,
	  .help = "weight decay; 0 unless the optimizer has another",
	  .man = "Added to the gradient, but where --optimizer says otherwise." },
	{ .name = "clip-norm",
	  .also = "clip,grad-clip,clip-grad-norm,max-grad-norm",
	  .type = NN_OPT_REAL,
	  .offset = AT(recipe.clip_norm),
	  .arg = "NORM",
	  .fallback = "0",
	  .min = 0,
	  .max = 1e30,
	  .help = "clip the global gradient norm to this; 0: never" },
	{ .name = "epochs",
	  .daily = "passes over the data",
	  .also = "epoch,max-epochs,num-epochs,n-epochs,max-iter,iterations,rounds,num-train-"
		  "epochs",
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.epochs),
	  .arg = "N",
	  .max = MOST,
	  .help = "passes over the data (10, or as many as make 2,000 steps)",
	  .man = "Without this, --steps and --time-limit training takes whole epochs, as many as "
		 "make 2,000 steps but at least 10: 667 for 150 rows in batches of 64, 10 from "
		 "12,737 rows on. See WHEN TRAINING ENDS." },
	{ .name = "steps",
	  .also = "max-steps,num-steps,train-steps",
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.steps),
	  .arg = "N",
	  .max = MOST,
	  .help = "steps in all; with --epochs, whichever ends first",
	  .man = "Counted from the start of the training, also after --resume. --steps=0 writes "
		 "the model as it was initialized or, with --resume, as the state has it. Without "
		 "DATA it writes the model file of -m again, as --precision, --fold-batchnorm and "
		 "-o FILE.onnx say; of other options standard ones alone go with that." },
	{ .name = "time-limit",
	  .also = "max-time,timelimit",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(recipe.time_limit),
	  .arg = "SECONDS",
	  .min = 0.001,
	  .max = MOST,
	  .help = "end after the step in which so much time has passed",
	  .man = "What ends first counts: this, --epochs or --steps. The clock begins with the "
		 "first step of this run, after the "
		 "data were read, also after --resume, which may give another limit. How far a "
		 "training comes in so much time "
		 "differs from run to run, and so does its model." },
	{ .name = "batch",
	  .daily = "samples per step (64)",
	  .also = "batch-size,batchsize,minibatch,minibatch-size,per-device-train-batch-size",
	  .letter = 'b',
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.batch),
	  .arg = "N",
	  .fallback = "64",
	  .min = 1,
	  .max = 1e9,
	  .help = "samples per step" },
	{ .name = "leaves",
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.leaves),
	  .arg = "N",
	  .min = 1,
	  .max = 1e9,
	  .help = "parts of a batch whose sums are added as a tree (power of two)",
	  .man = "The order of summation, and so the bytes of the model, follow from it. The "
		 "default follows from the "
		 "batch: 2 for 32 samples, 4 for 64, 8 for 128, 16 from 256 on, 1 below 32." },
	{ .name = "micro-batch",
	  .also = "gradient-accumulation-steps,accumulate,micro-batch-size",
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.micro_batch),
	  .arg = "N",
	  .min = 1,
	  .max = 1e9,
	  .help = "samples that go through at once, at most",
	  .man = "Less memory, never other bytes. With batch norm it is rounded up to whole "
		 "groups. The default is as many as suit the cache and fit the memory." },
	{ .name = "shuffle",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(recipe.shuffle),
	  .arg = "yes|no|N",
	  .fallback = "yes",
	  .choices = (const char *const[]){ "yes", "no", NULL },
	  .check = check_shuffle,
	  .help = "new order in each epoch: over all samples, none, or within windows of N" },
	{ .name = "stateful",
	  .also = "carry-state,keep-state,tbptt,truncated-bptt",
	  .type = NN_OPT_FLAG,
	  .offset = AT(recipe.stateful),
	  .help = "of a text: recurrent layers go on where the batch before ended",
	  .man = "The text is cut into as many streams as a batch has rows, and batch k of an "
		 "epoch "
		 "has window k of each, in place of a shuffled order. rnn, lstm and gru begin an "
		 "epoch with zeros and keep their state from batch to batch; gradients end with a "
		 "window (truncated backpropagation through time). Windows that make no whole "
		 "batch are left out. Held-out windows begin with zeros. The states are part of a "
		 "checkpoint; bytes are the same for any threads, micro-batches and ranks." },
	{ .name = "replay",
	  .topic = "Training",
	  .also = "replay-buffer,replay-size,buffer-size",
	  .type = NN_OPT_COUNT,
	  .offset = AT(recipe.replay),
	  .arg = "N",
	  .min = 1,
	  .max = 1e12,
	  .help = "DATA are a stream: steps draw from its newest N samples",
	  .man = "As experience replay in reinforcement learning. The first N samples fill a ring "
		 "buffer; columns, labels and scales are measured over them, and an epoch is as "
		 "many steps as draw N samples. A step draws each of its samples from those that "
		 "are there, all equally likely, by the seed and the number of the step; then as "
		 "many new ones are read, which take the places of the oldest, and training waits "
		 "where they have not been sent. Without --epochs, --steps or --time-limit it ends "
		 "when as many were drawn as the stream had; with one of them it goes on with "
		 "those that are left, or leaves the rest of the stream. Memory is bounded by N. "
		 "Bytes depend on the seed and the stream, not on threads, micro-batches or when "
		 "samples come. --resume reads the stream again, so it needs a file, or "
		 "--spool=FILE; --valid is a file; ranks each read a file. DATA are CSV, JSON "
		 "lines, LIBSVM (with an input line), .npy, IDX or tar. A buffer of fewer than ten "
		 "batches is warned of." },
	{ .name = "split-seed",
	  .topic = "Validation",
	  .type = NN_OPT_COUNT,
	  .offset = AT(split_seed),
	  .arg = "N",
	  .fallback = "1",
	  .help = "which samples --valid=FRACTION holds out" },
	{ .name = "valid",
	  .daily = "hold out files, or a fraction of DATA",
	  .topic = "Validation",
	  .also = "validation-split,validation,validation-data,val,val-split,val-data,dev,test-"
		  "size,holdout,eval",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(valid),
	  .arg = "FILE[,TARGETS]|FRACTION",
	  .check = check_valid,
	  .file = NN_OPT_READS,
	  .names_file = valid_is_file,
	  .each_file = valid_each_file,
	  .help = "held-out data: files, or a fraction of DATA",
	  .man = "A fraction is drawn once, the same share from each class." },
	{ .name = "folds",
	  .daily = "cross-validation in K parts",
	  .topic = "Validation",
	  .also = "cv,kfold,k-fold,cross-validation",
	  .type = NN_OPT_COUNT,
	  .offset = AT(folds),
	  .arg = "K",
	  .min = 2,
	  .max = 1e6,
	  .help = "cross-validation: hold out each of K parts in turn and print a table of the "
		  "metrics",
	  .man = "See CROSS-VALIDATION." },
	{ .name = "try",
	  .topic = "Validation",
	  .daily = "try values of an option, as in lr=0.001,0.01",
	  .also = "grid,search,grid-search,sweep,tune",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(tries),
	  .arg = "OPTION=V1,V2,...",
	  .check = nn_parse_try,
	  .repeated = true,
	  .help = "train with each of these values, side by side, and keep the best model",
	  .man = "May be repeated: every combination is tried, at most 1000. Options under "
		 "Training and Data can be tried, and "
		 "--seed. A comma before a blank is part of a value, as in the text of a network, "
		 "and so is one in "
		 "double quotes. --valid or --folds decides, by --metric. See TRYING OPTIONS." },
	{ .name = "valid-every",
	  .topic = "Validation",
	  .also = "eval-every,eval-steps,validation-freq",
	  .type = NN_OPT_COUNT,
	  .offset = AT(valid_every),
	  .arg = "STEPS",
	  .min = 1,
	  .max = MOST,
	  .help = "evaluate the held-out data every STEPS steps too, not only after each epoch" },
	{ .name = "metric",
	  .topic = "Validation",
	  .also = "metrics,eval-metric,monitor,scoring",
	  .type = NN_OPT_STRING,
	  .offset = AT(metric),
	  .arg = "NAME",
	  .filled = true,
	  .help = "what is best: accuracy (classes), rmse (numbers), iou.mean (masks), or loss, "
		  "auc (two classes), f1.macro, mae, r2" },
	{ .name = "patience",
	  .daily = "stop after N evaluations without improvement",
	  .topic = "Validation",
	  .also = "early-stopping,early-stopping-rounds,early-stop,n-iter-no-change",
	  .type = NN_OPT_COUNT,
	  .offset = AT(patience),
	  .arg = "N",
	  .min = 1,
	  .max = 1e9,
	  .help = "stop after N evaluations without improvement and keep the best model",
	  .man = "An improvement is one of the --metric by more than 1e-6 of its value. Needs "
		 "--valid or --folds." },
	{ .name = "threshold",
	  .topic = "Validation",
	  .also = "cutoff,decision-threshold",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(threshold),
	  .arg = "f1|youden",
	  .fallback = "none",
	  .choices = nn_threshold_words,
	  .help = "of two classes, where the model says the second: found on the held-out rows",
	  .man = "After training, of all probabilities that held-out rows have of the second class "
		 "the one that makes the largest F1 of that class, or Youden's J (true positive "
		 "rate - false positive rate), when rows at and above it are taken for it; the "
		 "smallest of equals. It is stored in the model: nn-predict --emit=class and "
		 "--score use it, --threshold=T there another. The figures in the model are those "
		 "with it. Needs --valid." },
	{ .name = "class-weight",
	  .also = "class-weights,scale-pos-weight",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(class_weight),
	  .arg = "W,...|balanced",
	  .choices = (const char *const[]){ "balanced", NULL },
	  .check = check_weights,
	  .help = "weights of the classes in the loss, in the order of the labels",
	  .man = "balanced is n / (k c) for a class that c of the n training targets have, of "
		 "which there are k: rare classes count as "
		 "much as frequent ones. Masks count by position; what --ignore masks does not "
		 "count; a class that no training "
		 "row has gets 1. The weights that were used are kept in the model." },
	{ .name = "ignore",
	  .also = "ignore-index,ignore-class,ignore-label",
	  .type = NN_OPT_STRING,
	  .offset = AT(ignore),
	  .arg = "CLASS",
	  .help = "the label whose samples do not count in the loss or in a metric",
	  .man = "It is no class of the model, unless the output line has room for it." },
	{ .name = "augment",
	  .also = "augmentation,data-augmentation,transforms,transform",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(augment),
	  .arg = "LIST",
	  .check = nn_augment_check,
	  .help = "change pictures at random in training: flip, crop=N, rotate=DEGREES, ...",
	  .man = "Also scale=F, brightness=F, contrast=F, noise=SD, cutout=N, mixup=A, separated "
		 "by "
		 "commas; see AUGMENTATION." },
	{ 0 }
};
